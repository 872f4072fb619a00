/**
 * A random sequence of what people do to a plan, its tenants, and their templates and keys: they declare, change and remove, and much of it
 * is wrong. What the API server refuses is refused, and what was lost with a connection was perhaps done: the judge goes by what etcd
 * holds.
 */
import { parseKeyHash } from '@platen/contract/domain/api-key.ts'
import type { KeyHash, TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { type PackedStatus, unpackStatus } from '@platen/operator/reconcile/packed-status.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { shuffled } from '../../run/form.ts'
import type { Reference, Resources } from '../rig/resources.ts'
import { type Chance, type Declaration, declarationsOf, putConfigMap } from './declaration.ts'
import type { Revocation, Revocations } from './revocation.ts'
import type { ChaosRig } from './rig.ts'
import { secretOf, tamper } from './secret.ts'

export interface Sequence {
  readonly name: string
  /** Declares what there is at first, all of it sound. */
  readonly begin: () => Promise<void>
  readonly step: () => Promise<void>
  readonly clear: () => Promise<void>
  readonly history: readonly string[]
}

export interface SequenceOptions {
  readonly name: string
  readonly rig: ChaosRig
  readonly revocations: Revocations
  /** Gets what nobody else sees. */
  readonly deeds: { readonly edited: Set<string>; readonly ended: Map<string, readonly KeyHash[]> }
  /** From 0 to 1. */
  readonly random: () => number
}

export function aSequence({ name, rig, revocations, deeds, random }: SequenceOptions): Sequence {
  const { resources } = rig
  const chance: Chance = (...many) => many[Math.floor(random() * many.length)] ?? many[0]
  const declarations = declarationsOf(name)
  /** Hours for which the last key lives on, where that is known. */
  const overlaps = new Map<Declaration, unknown>()
  const withSecret = declarations.filter(({ hasSecret }) => hasSecret)
  let [rotations, edits] = [0, 0]
  const history: string[] = []
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<boolean> => {
    const outcome = await act().then(
      () => undefined,
      (error: unknown) => String(error),
    )
    history.push(outcome === undefined ? what : `${what}: ${outcome}`)
    return outcome === undefined
  }
  const put = async (declaration: Declaration, spec: object) => {
    const { reference } = declaration
    // It may bring back what is measured on its way out.
    if (reference.kind !== 'Template') revocations.forget(name)
    const revoked = revocationOf(rig, declaration)
    // What is asked for already may be done by this.
    deeds.ended.delete(reference.name)
    overlaps.delete(declaration)
    const isDone = await attempt(`put ${reference.kind} ${reference.name} ${JSON.stringify(spec)}`, () =>
      write(resources, reference, spec),
    )
    if (isDone && 'overlapHours' in spec) overlaps.set(declaration, spec.overlapHours)
    if (isDone && 'suspend' in spec && spec.suspend === true) measure(revoked, `${reference.kind} suspended`)
  }
  const remove = async (declaration: Declaration) => {
    const { reference } = declaration
    const revoked = resources.get(reference) && revocationOf(rig, declaration)
    const isDone = await attempt(`remove ${reference.kind} ${reference.name}`, () => resources.remove(reference))
    if (isDone) measure(revoked, `${reference.kind} removed`)
  }
  const rotate = async (declaration: Declaration) => {
    const { reference } = declaration
    const hashes = hashesIn(resources.get(reference)?.status)
    rotations++
    const time = new Date(FIRST_ROTATION + rotations * SECOND_MS).toISOString()
    const at = chance(time, time, time, 'as soon as you can')
    const isDone = await attempt(`rotate ${reference.kind} ${reference.name} ${at}`, () =>
      resources.rotate(reference, at),
    )
    if (isDone && at === time && overlaps.get(declaration) === 0) deeds.ended.set(reference.name, hashes)
  }
  const edit = async ({ reference }: Declaration) => {
    const resource = resources.get(reference)?.resource
    const secret = resource && secretOf(resource)
    if (resource === undefined || secret === undefined) return
    deeds.edited.add(labelOf(resource))
    const text = `somebody-has-edited-${name}-${++edits}`
    await attempt(`edit ${text} in the Secret of ${reference.kind} ${reference.name}`, () =>
      tamper(rig.rig.kube, secret, { chance, text }),
    )
  }
  const measure = (holds: Revocation['holds'] | undefined, what: string) => {
    if (holds) revocations.begin({ owner: name, what, holds })
  }
  return {
    name,
    history,
    async begin() {
      await attempt('put ConfigMap', () => putConfigMap(rig, name, chance))
      for (const declaration of declarations) await put(declaration, declaration.sound)
    },
    async step() {
      const declaration = chance(...(declarations as [Declaration]))
      if (random() < CONFIG_MAP_SHARE) await attempt('put ConfigMap', () => putConfigMap(rig, name, chance))
      else if (random() < ROTATION_SHARE) await rotate(chance(...(withSecret as [Declaration])))
      else if (random() < EDIT_SHARE) await edit(chance(...(withSecret as [Declaration])))
      else if (random() < REMOVAL_SHARE) await remove(declaration)
      else await put(declaration, declaration.specs(chance))
    },
    async clear() {
      // With its tenant gone, no key would be left to be revoked by itself.
      for (const declaration of shuffled(declarations, random)) await remove(declaration)
    },
  }
}

const SECOND_MS = 1000
const FIRST_ROTATION = Date.parse('2026-01-01T00:00:00Z')
const CONFIG_MAP_SHARE = 0.08
const ROTATION_SHARE = 0.15
const EDIT_SHARE = 0.1
const REMOVAL_SHARE = 0.25

/** Changes it where it is there, else declares it. */
async function write(resources: Resources, reference: Reference, spec: object): Promise<void> {
  if (resources.get(reference) === undefined) await resources.create(reference, spec)
  else await resources.patch(reference, spec)
}

/** By what it shows that a tenant or key is not let in any more; undefined where it is not now. */
function revocationOf(
  { rig, resources }: ChaosRig,
  { reference, hash, tenant }: Declaration,
): Revocation['holds'] | undefined {
  const hashes = hash === undefined ? hashesIn(resources.get(reference)?.status) : [hash]
  const holds = ({ tenants, keys }: DirectorySnapshot) =>
    reference.kind === 'Tenant'
      ? // A tenant's id is its resource's name.
        tenants.get(reference.name as TenantId)?.suspended !== false
      : hashes.map((each) => keys.get(each)).every((key) => key === undefined || key.tenant !== tenant || key.suspended)
  return holds(rig.directory()) ? undefined : holds
}

/** Of a key that was made, and of the one before it. */
function hashesIn(status: PackedStatus | undefined): readonly KeyHash[] {
  const { sha256, previous } = status === undefined ? {} : unpackStatus(status)
  return [sha256, previous?.sha256].flatMap((hash) => parseKeyHash(hash ?? '') ?? [])
}
