/**
 * A plan, its tenants, and their templates and keys, which are changed one after the other by chance: what is declared, and what every
 * API process therefore has to answer. Of several lanes each is nobody else's, so that they can be changed at once.
 */
import { createHash } from 'node:crypto'
import type { Place, Resources, Written } from '../rig/resources.ts'
import { TEAM } from '../rig/rig.ts'

/** What is declared of a tenant. */
export interface TenantModel {
  readonly name: string
  isDeclared: boolean
  /** Does it list the namespace of its templates and keys? */
  isOpen: boolean
  suspendedReason: string | undefined
  /** Absent = that of the plan. */
  asyncRate: number | undefined
  readonly keys: readonly KeyModel[]
  readonly template: TemplateModel
}

export interface KeyModel {
  readonly name: string
  /** Those of ApiKeys of this name that were removed open nothing. */
  text: string
  isDeclared: boolean
  isSuspended: boolean
}

export interface TemplateModel {
  readonly name: string
  isPublished: boolean
  /** What its schema asks for, another with each change. */
  tag: string
}

export interface LaneModel {
  readonly plan: { readonly name: string; hasHtml: boolean; asyncRate: number }
  readonly tenants: readonly TenantModel[]
}

/** One change of one resource, made: what to wait for, and in words. */
export interface Made {
  readonly what: string
  readonly place: Place
  readonly written: Written
  /** Is it to go, instead of to be propagated? */
  readonly isRemoval: boolean
}

export interface Lane {
  readonly model: LaneModel
  /** Declares all there is at first. */
  readonly begin: () => Promise<readonly Made[]>
  /** Makes one change by chance. */
  readonly change: () => Promise<Made>
}

/** A template that stays as it is, and takes any data. */
export const STEADY = 'steady'
/** A third of it is far more than is asked for in a minute, and no rate is a third of another's. */
const RATE_MIN = 10_000

export interface LaneOptions {
  readonly name: string
  readonly resources: Resources
  /** From 0 to 1. */
  readonly random: () => number
}

export function aLane({ name, resources, random }: LaneOptions): Lane {
  const model = modelOf(name)
  let steps = 0
  const scene = {
    model,
    resources,
    nextRate: () => (random() < 0.2 ? 0 : RATE_MIN + 3 * ++steps),
    nextTag: () => `v${++steps}`,
  }
  return {
    model,
    begin: () => beginAll(scene),
    change() {
      const possible = changesOf(scene)
      const change = possible[Math.floor(random() * possible.length)]
      if (change === undefined) throw new Error('nothing can be changed')
      return change()
    },
  }
}

interface Scene {
  readonly model: LaneModel
  readonly resources: Resources
  /** At times nothing at all. */
  readonly nextRate: () => number
  readonly nextTag: () => string
}

function modelOf(lane: string): LaneModel {
  const tenants = ['a', 'b'].map((letter): TenantModel => {
    const name = `${lane}-${letter}`
    const keys = ['one', 'two'].map((which) => ({
      name: `${name}-${which}`,
      text: keyText(`${name} ${which}`),
      isDeclared: true,
      isSuspended: false,
    }))
    const template = { name: `${name}-letter`, isPublished: true, tag: 'v0' }
    return { name, isDeclared: true, isOpen: true, suspendedReason: undefined, asyncRate: undefined, keys, template }
  })
  return { plan: { name: lane, hasHtml: true, asyncRate: RATE_MIN }, tenants }
}

/** In the form of our keys; of the same seed the same. */
function keyText(seed: string): string {
  return `service_live_${createHash('sha256').update(seed).digest('hex')}`
}

async function beginAll({ model, resources }: Scene): Promise<readonly Made[]> {
  const made: Made[] = []
  const create = async (place: Place, spec: object) => {
    made.push({ what: 'create', place, written: await resources.create(place, spec), isRemoval: false })
  }
  await create(planPlace(model), planSpec(model))
  for (const tenant of model.tenants) {
    await create(tenantPlace(tenant), tenantSpec(model, tenant))
    await create(templatePlace(tenant), templateSpec(tenant))
    const steady = { ...templateSpec(tenant), code: STEADY, variablesSchema: { type: 'object' } }
    await create({ ...templatePlace(tenant), name: `${tenant.name}-${STEADY}` }, steady)
    for (const key of tenant.keys) await create(keyPlace(key), keySpec(tenant, key))
  }
  return made
}

type Change = () => Promise<Made>

/** All that make sense now: what a tenant has is changed while the tenant is there for it. */
function changesOf(scene: Scene): readonly Change[] {
  const { model } = scene
  return [
    ...planChanges(scene),
    ...model.tenants.flatMap((tenant) => {
      if (!tenant.isDeclared) return [declareTenant(scene, tenant)]
      if (!tenant.isOpen) return [patchTenant(scene, tenant, { isOpen: true })]
      return [
        ...tenantChanges(scene, tenant),
        ...templateChanges(scene, tenant),
        ...tenant.keys.flatMap((key) => keyChanges(scene, tenant, key)),
      ]
    }),
  ]
}

function planChanges({ model, resources, nextRate }: Scene): readonly Change[] {
  const patch = (what: string, change: () => void) => async (): Promise<Made> => {
    change()
    const written = await resources.patch(planPlace(model), planSpec(model))
    return { what: `plan ${model.plan.name} ${what}`, place: planPlace(model), written, isRemoval: false }
  }
  const { plan } = model
  const toggle = patch('html', () => {
    plan.hasHtml = !plan.hasHtml
  })
  const rate = patch('rate', () => {
    plan.asyncRate = nextRate()
  })
  // As often as of tenants, of which there are two.
  return [toggle, toggle, rate, rate]
}

function tenantChanges(scene: Scene, tenant: TenantModel): readonly Change[] {
  const { nextRate, nextTag } = scene
  const isSuspended = tenant.suspendedReason !== undefined
  return [
    patchTenant(scene, tenant, { isOpen: false }),
    patchTenant(scene, tenant, { suspendedReason: isSuspended ? undefined : nextTag() }),
    patchTenant(scene, tenant, { asyncRate: tenant.asyncRate === undefined ? nextRate() : undefined }),
    async () => {
      const written = writtenOf(scene, tenantPlace(tenant))
      await scene.resources.remove(tenantPlace(tenant))
      tenant.isDeclared = false
      return { what: `tenant ${tenant.name} removed`, place: tenantPlace(tenant), written, isRemoval: true }
    },
  ]
}

function patchTenant(
  { model, resources }: Scene,
  tenant: TenantModel,
  change: Partial<Record<'isOpen' | 'suspendedReason' | 'asyncRate', unknown>>,
): Change {
  return async () => {
    Object.assign(tenant, change)
    const written = await resources.patch(tenantPlace(tenant), tenantSpec(model, tenant))
    const what = `tenant ${tenant.name} ${Object.entries(change).join()}`
    return { what, place: tenantPlace(tenant), written, isRemoval: false }
  }
}

function declareTenant({ model, resources }: Scene, tenant: TenantModel): Change {
  return async () => {
    tenant.isDeclared = true
    const written = await resources.create(tenantPlace(tenant), tenantSpec(model, tenant))
    return { what: `tenant ${tenant.name} declared`, place: tenantPlace(tenant), written, isRemoval: false }
  }
}

function templateChanges({ resources, nextTag }: Scene, tenant: TenantModel): readonly Change[] {
  const { template } = tenant
  const patch = (what: string, change: () => void) => async (): Promise<Made> => {
    change()
    const written = await resources.patch(templatePlace(tenant), templateSpec(tenant))
    return { what: `template ${template.name} ${what}`, place: templatePlace(tenant), written, isRemoval: false }
  }
  const publish = patch('published or not', () => {
    template.isPublished = !template.isPublished
  })
  const change = patch('schema', () => {
    template.tag = nextTag()
  })
  return [publish, change, change]
}

function keyChanges(scene: Scene, tenant: TenantModel, key: KeyModel): readonly Change[] {
  const { resources, nextTag } = scene
  const place = keyPlace(key)
  const declare = async (): Promise<Made> => {
    Object.assign(key, { isDeclared: true, isSuspended: false, text: keyText(`${key.name} ${nextTag()}`) })
    const written = await resources.create(place, keySpec(tenant, key))
    return { what: `key ${key.name} declared`, place, written, isRemoval: false }
  }
  if (!key.isDeclared) return [declare]
  return [
    async () => {
      key.isSuspended = !key.isSuspended
      const written = await resources.patch(place, { suspended: key.isSuspended })
      return { what: `key ${key.name} ${key.isSuspended ? '' : 'not '}suspended`, place, written, isRemoval: false }
    },
    async () => {
      const written = writtenOf(scene, place)
      await resources.remove(place)
      key.isDeclared = false
      return { what: `key ${key.name} removed`, place, written, isRemoval: true }
    },
  ]
}

function writtenOf({ resources }: Scene, place: Place): Written {
  const { metadata } = resources.get(place)?.resource ?? {}
  if (metadata === undefined) throw new Error(`there is no ${place.kind} ${place.name}`)
  return metadata
}

function planPlace({ plan }: LaneModel): Place {
  return { kind: 'Plan', name: plan.name }
}

function tenantPlace({ name }: TenantModel): Place {
  return { kind: 'Tenant', name }
}

function templatePlace({ template: { name } }: TenantModel): Place {
  return { kind: 'Template', namespace: TEAM, name }
}

function keyPlace({ name }: KeyModel): Place {
  return { kind: 'ApiKey', namespace: TEAM, name }
}

function planSpec({ plan: { hasHtml, asyncRate } }: LaneModel): object {
  return { htmlEngineEnabled: hasHtml, asyncRateLimitPerMinute: asyncRate }
}

/** Where something is not declared, the patch takes it away. */
function tenantSpec({ plan }: LaneModel, { isOpen, suspendedReason, asyncRate, isDeclared }: TenantModel): object {
  const isNamed = isDeclared && asyncRate !== undefined
  return {
    planRef: { name: plan.name },
    namespaces: isOpen ? [TEAM] : [],
    suspended: suspendedReason !== undefined,
    suspendedReason: suspendedReason ?? null,
    overrides: isNamed ? { asyncRateLimitPerMinute: asyncRate } : null,
  }
}

function templateSpec({ name, template: { name: code, isPublished, tag } }: TenantModel): object {
  return {
    tenantRef: { name },
    code,
    published: isPublished,
    variablesSchema: { type: 'object', required: [tag] },
    reactPdf: {
      source: { inline: "import { Document } from '@react-pdf/renderer'; export default () => <Document />" },
    },
    html: { template: { inline: '<p>' } },
  }
}

function keySpec({ name }: TenantModel, { text, isSuspended }: KeyModel): object {
  return {
    tenantRef: { name },
    sha256: `sha256:${createHash('sha256').update(text).digest('hex')}`,
    suspended: isSuspended,
  }
}
