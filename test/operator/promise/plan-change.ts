/** A plan that is changed, taken from its tenants, and declared again under the same name. */
import { planReference, planSpec, tenantReference } from './declaration.ts'
import type { LaneModel, PlanLimits } from './model.ts'
import type { Change, Scene } from './scene.ts'

/** All of a plan that is declared. */
export function planChanges(scene: Scene): readonly Change[] {
  const { limits } = scene.model.plan
  const toggle = patchPlan(scene, 'html', () => ({ ...limits, hasHtml: !limits.hasHtml }))
  const rate = patchPlan(scene, 'rate', () => ({ ...limits, asyncRate: scene.nextRate() }))
  // As often as of tenants, of which there are two.
  return [toggle, toggle, rate, rate, removePlan(scene), replacePlan(scene)]
}

export function declarePlan(scene: Scene): Change {
  return { what: 'plan declared', name: scene.model.plan.name, make: (signal) => declare(scene, signal) }
}

/** So quickly that its tenants may never be told that there was none in between. */
function replacePlan(scene: Scene): Change {
  const { model, resources } = scene
  return {
    what: 'plan replaced',
    name: model.plan.name,
    async make(signal) {
      await resources.remove(planReference(model))
      await declare(scene, signal)
    },
  }
}

async function declare({ model, resources, nextRate }: Scene, signal: AbortSignal): Promise<void> {
  const { plan } = model
  plan.isDeclared = true
  give(model, { hasHtml: !plan.limits.hasHtml, asyncRate: nextRate() })
  const written = await resources.create(planReference(model), planSpec(model))
  await resources.untilPropagated(planReference(model), written, signal)
}

function patchPlan({ model, resources }: Scene, what: string, next: () => PlanLimits): Change {
  return {
    what: `plan ${what}`,
    name: model.plan.name,
    async make(signal) {
      give(model, next())
      const written = await resources.patch(planReference(model), planSpec(model))
      await resources.untilPropagated(planReference(model), written, signal)
    },
  }
}

/** It has no finalizer, and needs none: its tenants keep what it gave them, before and after the operator has heard of it. */
function removePlan({ model, resources }: Scene): Change {
  const { plan, tenants } = model
  return {
    what: 'plan removed',
    name: plan.name,
    isUnpromised: true,
    async make(signal) {
      const declared = tenants.filter(({ isDeclared }) => isDeclared).map(tenantReference)
      const untilStatus = async (reason: 'PlanResolved' | 'PlanNotFound') => {
        const waits = declared.map((reference) =>
          resources.untilStatus(
            reference,
            ({ conditions = [] }) => conditions.some((each) => each.reason === reason),
            signal,
          ),
        )
        await Promise.all(waits)
      }
      // What they say of a plan that was removed before is not taken for news of this one.
      await untilStatus('PlanResolved')
      await resources.remove(planReference(model))
      plan.isDeclared = false
      await untilStatus('PlanNotFound')
    },
  }
}

function give({ plan, tenants }: LaneModel, limits: PlanLimits): void {
  plan.limits = limits
  for (const tenant of tenants) if (tenant.isDeclared) tenant.limits = limits
}
