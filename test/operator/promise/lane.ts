/**
 * A plan, its tenants, and their templates and keys, which are changed one after the other by chance. Of several lanes each is nobody
 * else's, so that they can be changed at once.
 */
import { declareKey, keyChanges } from './key-change.ts'
import { type LaneModel, modelOf } from './model.ts'
import { declarePlan, planChanges } from './plan-change.ts'
import type { Change, Scene } from './scene.ts'
import { declareSteady, declareTemplate, templateChanges } from './template-change.ts'
import { declareTenant, patchTenant, removeTenant, tenantChanges } from './tenant-change.ts'

export interface Lane {
  readonly model: LaneModel
  /** Declares all there is at first. Resolves when it is propagated. */
  readonly begin: (signal: AbortSignal) => Promise<void>
  /** Makes one change by chance. Resolves to which when what is promised of it holds. */
  readonly change: (signal: AbortSignal) => Promise<Pick<Change, 'what' | 'name'>>
}

export interface LaneOptions extends Pick<Scene, 'rig' | 'resources'> {
  readonly name: string
  /** Changes that are made sooner than by chance alone, as long as this lane has not made them. */
  readonly wanted: readonly string[]
  /** From 0 to 1. */
  readonly random: () => number
}

/** A third of it is far more than is asked for in a minute, and no rate is a third of another's. */
const RATE_MIN = 10_000
const SECOND_MS = 1000
/** By chance alone a change would be missing in every few short runs. */
const SOONER_SHARE = 0.5

export function aLane({ name, rig, resources, wanted, random }: LaneOptions): Lane {
  const model = modelOf(name)
  const untried = new Set(wanted)
  let steps = 0
  const scene: Scene = {
    model,
    rig,
    resources,
    nextRate: () => (random() < 0.2 ? 0 : RATE_MIN + 3 * ++steps),
    nextTag: () => `v${++steps}`,
    nextTime: () => new Date(++steps * SECOND_MS).toISOString(),
  }
  return {
    model,
    begin: (signal) => beginAll(scene, signal),
    async change(signal) {
      const possible = changesOf(scene)
      const sooner = possible.filter(({ what }) => untried.has(what))
      const from = sooner.length > 0 && random() < SOONER_SHARE ? sooner : possible
      const change = from[Math.floor(random() * from.length)]
      if (change === undefined) throw new Error('nothing can be changed')
      untried.delete(change.what)
      await change.make(signal)
      if (change.isUnpromised !== true) for (const { template } of model.tenants) template.mayLinger = false
      return change
    },
  }
}

/** Each after what it names: it is propagated in no other order. */
async function beginAll(scene: Scene, signal: AbortSignal): Promise<void> {
  const { tenants } = scene.model
  const makeAll = (changes: readonly Change[]) => Promise.all(changes.map((change) => change.make(signal)))
  await makeAll([declarePlan(scene)])
  await makeAll(tenants.map((tenant) => declareTenant(scene, tenant)))
  await makeAll(
    tenants.flatMap((tenant) => [
      declareTemplate(scene, tenant),
      declareSteady(scene, tenant),
      ...tenant.keys.map((key) => declareKey(scene, { tenant, key })),
    ]),
  )
}

/** All that make sense now: what a tenant has is changed while the tenant is there for it, and is served. */
function changesOf(scene: Scene): readonly Change[] {
  const { plan, tenants } = scene.model
  return [
    ...(plan.isDeclared ? planChanges(scene) : often(declarePlan(scene))),
    ...tenants.flatMap((tenant) => {
      if (!tenant.isDeclared) return often(declareTenant(scene, tenant))
      if (tenant.limits === undefined) return [removeTenant(scene, tenant)]
      if (!tenant.isOpen) return plan.isDeclared ? often(patchTenant(scene, tenant, { isOpen: true })) : []
      return [
        ...tenantChanges(scene, tenant),
        ...templateChanges(scene, tenant),
        ...tenant.keys.flatMap((key) => keyChanges(scene, { tenant, key })),
      ]
    }),
  ]
}

/** What much depends on is not away for long. */
function often(change: Change): readonly Change[] {
  return Array.from({ length: 5 }, () => change)
}
