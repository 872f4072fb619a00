/**
 * A random sequence of what people do to a plan, its tenants, and their templates and keys: they declare, change and remove, and much of it
 * is wrong. What the API server refuses is refused, and what was lost with a connection was perhaps done: the judge goes by what etcd holds.
 */
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { TenantId } from '@platen/contract/tenant.ts'
import type { Place, Resources } from '../rig/resources.ts'
import { type Chance, type Declaration, declarationsOf, putConfigMap } from './declaration.ts'
import type { Revocation, Revocations } from './revocation.ts'
import type { ChaosRig } from './rig.ts'

export interface Sequence {
  readonly name: string
  /** Declares what there is at first, all of it sound. */
  readonly begin: () => Promise<void>
  /** Does one thing more. */
  readonly step: () => Promise<void>
  /** Removes all there is. */
  readonly clear: () => Promise<void>
  /** What was done, in words. */
  readonly told: readonly string[]
}

export interface SequenceOptions {
  readonly name: string
  readonly rig: ChaosRig
  readonly revocations: Revocations
  /** From 0 to 1. */
  readonly random: () => number
}

export function aSequence({ name, rig, revocations, random }: SequenceOptions): Sequence {
  const { resources } = rig
  const chance: Chance = (...many) => many[Math.floor(random() * many.length)] ?? many[0]
  const declarations = declarationsOf(name)
  const told: string[] = []
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<boolean> => {
    const outcome = await act().then(
      () => undefined,
      (error: unknown) => String(error),
    )
    told.push(outcome === undefined ? what : `${what}: ${outcome}`)
    return outcome === undefined
  }
  const put = async (declaration: Declaration, spec: object) => {
    const { place } = declaration
    // It may bring back what is measured on its way out.
    if (place.kind !== 'Template') revocations.forget(name)
    const isDone = await attempt(`put ${place.kind} ${place.name} ${JSON.stringify(spec)}`, () =>
      write(resources, place, spec),
    )
    if (isDone && 'suspended' in spec && spec.suspended === true) measure(declaration, 'suspended')
  }
  const remove = async (declaration: Declaration) => {
    const { place } = declaration
    const isThere = resources.get(place) !== undefined
    const isDone = await attempt(`remove ${place.kind} ${place.name}`, () => resources.remove(place))
    if (isDone && isThere) measure(declaration, 'removed')
  }
  const measure = (declaration: Declaration, how: string) => {
    const holds = revocationOf(declaration)
    if (holds) revocations.begin({ owner: name, what: `${declaration.place.kind} ${how}`, holds })
  }
  return {
    name,
    told,
    async begin() {
      await attempt('put ConfigMap', () => putConfigMap(rig, name, chance))
      for (const declaration of declarations) await put(declaration, declaration.sound)
    },
    async step() {
      const declaration = chance(...(declarations as [Declaration]))
      if (random() < CONFIG_MAP_SHARE) await attempt('put ConfigMap', () => putConfigMap(rig, name, chance))
      else if (random() < REMOVAL_SHARE) await remove(declaration)
      else await put(declaration, declaration.specs(chance))
    },
    async clear() {
      for (const declaration of declarations) await remove(declaration)
    },
  }
}

const CONFIG_MAP_SHARE = 0.08
const REMOVAL_SHARE = 0.25

/** Changes it where it is there, else declares it. */
async function write(resources: Resources, place: Place, spec: object): Promise<void> {
  if (resources.get(place) === undefined) await resources.create(place, spec)
  else await resources.patch(place, spec)
}

/** By what it shows that a tenant or key is not let in any more. */
function revocationOf({ place, hash }: Declaration): Revocation['holds'] | undefined {
  // A tenant's id is its resource's name.
  if (place.kind === 'Tenant') return ({ tenants }) => tenants.get(place.name as TenantId)?.suspended !== false
  return hash && (({ keys }: DirectorySnapshot) => keys.get(hash)?.suspended !== false)
}
