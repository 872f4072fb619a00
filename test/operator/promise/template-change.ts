/** A template that is changed, removed, and declared again. */
import { STEADY, steadySpec, templateReference, templateSpec } from './declaration.ts'
import type { TenantModel } from './model.ts'
import type { Change, Scene } from './scene.ts'

/** All of a tenant that is served. */
export function templateChanges(scene: Scene, tenant: TenantModel): readonly Change[] {
  const { template } = tenant
  if (!template.isDeclared) return [declareTemplate(scene, tenant), declareTemplate(scene, tenant)]
  const publish = patchTemplate(scene, tenant, template.isPublished ? 'withdrawn' : 'published')
  const schema = patchTemplate(scene, tenant, 'schema')
  return [publish, schema, schema, removeTemplate(scene, tenant), replaceTemplate(scene, tenant)]
}

export function declareTemplate(scene: Scene, tenant: TenantModel): Change {
  return { what: 'template declared', name: tenant.template.name, make: (signal) => declare(scene, tenant, signal) }
}

/** The one that stays as it is. */
export function declareSteady({ resources }: Scene, tenant: TenantModel): Change {
  const reference = templateReference({ name: `${tenant.name}-${STEADY}` })
  return {
    what: 'template declared',
    name: reference.name,
    make: async (signal) =>
      resources.untilPropagated(reference, await resources.create(reference, steadySpec(tenant)), signal),
  }
}

function replaceTemplate(scene: Scene, tenant: TenantModel): Change {
  return {
    what: 'template replaced',
    name: tenant.template.name,
    async make(signal) {
      await scene.resources.remove(templateReference(tenant.template))
      await declare(scene, tenant, signal)
    },
  }
}

async function declare({ resources, nextTag }: Scene, tenant: TenantModel, signal: AbortSignal): Promise<void> {
  const { template } = tenant
  Object.assign(template, { isDeclared: true, isPublished: true, tag: nextTag() })
  const written = await resources.create(templateReference(template), templateSpec(tenant))
  await resources.untilPropagated(templateReference(template), written, signal)
}

function patchTemplate(
  { resources, nextTag }: Scene,
  tenant: TenantModel,
  what: 'published' | 'withdrawn' | 'schema',
): Change {
  const { template } = tenant
  return {
    what: `template ${what}`,
    name: template.name,
    async make(signal) {
      if (what === 'schema') template.tag = nextTag()
      else template.isPublished = what === 'published'
      const written = await resources.patch(templateReference(template), templateSpec(tenant))
      await resources.untilPropagated(templateReference(template), written, signal)
    },
  }
}

/**
 * It has no finalizer: it is gone before a process knows of it, and no status tells when they all do. But revisions come in one order, so
 * whatever is propagated after this one was published covers it.
 */
function removeTemplate({ resources, rig }: Scene, tenant: TenantModel): Change {
  const { template } = tenant
  return {
    what: 'template removed',
    name: template.name,
    isUnpromised: true,
    async make() {
      Object.assign(template, { isDeclared: false, mayLinger: template.isPublished })
      await resources.remove(templateReference(template))
      await rig.publishes(tenant.name, ({ templates }) => templates.every(({ code }) => code !== template.name))
    },
  }
}
