/**
 * Decides about a value that we generate and keep in a Secret: the key of an ApiKey, and the webhook secret of a Tenant. From the Secret,
 * the status, the requested rotation and the time, computes what to write and what to publish. The Secret is written first, then the value
 * is published, then the status is written. After a crash in between, the next run decides the same again, since the Secret records the
 * decision. A lost value is not replaced before somebody asks for a rotation, since others know the old one. Pure.
 */

import type { ApiKeyResource, TenantResource } from '@platen/contract/domain/resource.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { SecretRefusalReason } from '@platen/settings/compile/tenant.ts'
import {
  type ClusterSecret,
  labelsOf,
  ownershipOf,
  repairOf,
  type SecretDecision,
  type SecretLocation,
  type WantedSecret,
} from './cluster-secret.ts'
import {
  overlapEndIn,
  PREVIOUS_UNTIL_ANNOTATION,
  type RotationRequest,
  rotationAnnotations,
  servedRotationText,
  withServed,
} from './rotation.ts'

/** The values in force, with the rotations that led to them. */
export interface Values<Value> {
  /** Absent when it was lost, or never was. What the Secret has in its place is left alone. */
  readonly current?: Value
  /** Present while its overlap lasts. */
  readonly previous?: { readonly value: Value; readonly until: Instant }
  readonly served: readonly Instant[]
}

export interface Refusal {
  readonly fault: string
  readonly reason?: SecretRefusalReason
}

/** What differs between the kinds of values. */
export interface Generated<Value, Found, Status> {
  readonly resource: ApiKeyResource | TenantResource
  readonly noun: 'key' | 'secret'
  readonly place: SecretLocation
  /** How long the previous value stays valid. */
  readonly overlapMs: number
  /** The entry of the Secret with the previous value. */
  readonly previousEntry: string
  /** What to do about a Secret of somebody else, and about a lost value. */
  readonly advice: { readonly taken: string; readonly lost: string }
  /** Is a Secret of our type without an owner ours, such as one restored from a backup? */
  isOurs(orphan: ClusterSecret): boolean
  /** What is known, and whether there ever was a value. */
  known(own: ClusterSecret | undefined): Values<Value> & { readonly wasMade: boolean }
  make(): Value
  /** What is wrong with the value in the Secret. */
  faultIn(own: ClusterSecret, known: Values<Value>): string | undefined
  /** The entries of the Secret, without the name of the tenant. */
  dataOf(values: Values<Value>): WantedSecret['data']
  foundOf(current: Value, previous: Values<Value>['previous']): Found
  refused(refusal: Refusal, known: Values<Value>): Found
  statusOf(values: Values<Value>, rotation: string | undefined): Status
}

export interface DecisionInput<Status> {
  readonly secret: ClusterSecret | undefined
  readonly status: Status & { readonly rotation?: string }
  readonly asked: RotationRequest | undefined
  readonly now: Instant
}

export function decideSecret<Value, Found, Status>(
  generated: Generated<Value, Found, Status>,
  input: DecisionInput<Status>,
): SecretDecision<Found, Status> {
  const { resource, noun, place, advice } = generated
  const { secret, asked } = input
  const label = `Secret ${place.namespace}/${place.name}`
  const ownership = secret && ownershipOf(secret, ownerOf(resource))
  const isOwn = ownership === 'own' || (ownership === 'orphan' && secret !== undefined && generated.isOurs(secret))
  const own = isOwn ? secret : undefined
  const known = generated.known(own)
  const keepWith = (refusal: Refusal) => keepWithFault(generated, { ...input, known }, refusal)
  if (secret !== undefined && own === undefined && ownership !== 'predecessor')
    return keepWith({
      fault: `${label} does not belong to ${labelOf(resource)}: ${advice.taken}`,
      reason: 'SecretTaken',
    })
  const isAsked = asked !== undefined && !known.served.includes(asked.at)
  if (isAsked || !known.wasMade)
    return secret?.isImmutable === true
      ? keepWith({ fault: `${label} is immutable, so no new ${noun} can be written to it: remove it` })
      : replaceValue(generated, { ...input, known })
  if (own === undefined) {
    const what = secret === undefined ? 'is gone' : `belongs to an earlier ${resource.kind} of the same name`
    return keepWith({ fault: `${label} ${what}: ${advice.lost}` })
  }
  return keepAndRepair(generated, { ...input, known, own })
}

interface KnownInput<Value, Status> extends DecisionInput<Status> {
  readonly known: Values<Value>
}

/** Leaves the Secret alone, and keeps in force what is known. */
export function keepWithFault<Value, Found, Status>(
  generated: Generated<Value, Found, Status>,
  input: Omit<KnownInput<Value, Status>, 'secret' | 'now'>,
  refusal: Refusal,
): SecretDecision<Found, Status> {
  const found = generated.refused(refusal, input.known)
  return { ...outcomeOf(generated, input, input.known), found, isNew: false, repaired: [] }
}

/** The previous value stays valid for the overlap, and the one before that ends. */
function replaceValue<Value, Found, Status>(
  generated: Generated<Value, Found, Status>,
  input: KnownInput<Value, Status>,
): SecretDecision<Found, Status> {
  const { asked, now, known } = input
  const { overlapMs } = generated
  const current = generated.make()
  const previous =
    known.current !== undefined && overlapMs > 0 ? { value: known.current, until: now + overlapMs } : undefined
  const next = { current, ...(previous && { previous }), served: withServed(known.served, asked?.at) }
  return {
    ...outcomeOf(generated, input, next),
    found: generated.foundOf(current, previous),
    write: wantedOf(generated, next),
    isNew: true,
    repaired: [],
  }
}

/** Keeps the value, and repairs the rest of the Secret. */
function keepAndRepair<Value, Found, Status>(
  generated: Generated<Value, Found, Status>,
  input: KnownInput<Value, Status> & { readonly own: ClusterSecret },
): SecretDecision<Found, Status> {
  const { own, known, now } = input
  const { place, advice, previousEntry } = generated
  const end = overlapEndIn(own.annotations)
  const isOver = known.previous === undefined && end !== undefined && end <= now
  const expected = isOver ? [`data.${previousEntry}`, `annotations.${PREVIOUS_UNTIL_ANNOTATION}`] : []
  const kept = { ...outcomeOf(generated, input, known), ...repairOf(own, wantedOf(generated, known), expected) }
  const what = generated.faultIn(own, known)
  if (what === undefined && known.current !== undefined)
    return { ...kept, found: generated.foundOf(known.current, known.previous) }
  const fault = `Secret ${place.namespace}/${place.name} ${what}: ${advice.lost}`
  return { ...kept, found: generated.refused({ fault }, known) }
}

function outcomeOf<Value, Found, Status>(
  generated: Generated<Value, Found, Status>,
  { status, asked }: Pick<DecisionInput<Status>, 'status' | 'asked'>,
  values: Values<Value>,
): Pick<SecretDecision<Found, Status>, 'status' | 'retryAt'> {
  return {
    status: generated.statusOf(values, servedRotationText(values.served, [asked?.text, status.rotation])),
    ...(values.previous !== undefined && { retryAt: values.previous.until }),
  }
}

function wantedOf<Value, Found, Status>(
  generated: Generated<Value, Found, Status>,
  values: Values<Value>,
): WantedSecret {
  const { resource } = generated
  const tenant = resource.kind === 'Tenant' ? resource.metadata.name : resource.spec.tenantRef.name
  return {
    owner: ownerOf(resource),
    data: { ...generated.dataOf(values), tenant },
    annotations: rotationAnnotations(values.served, values.previous?.until),
    labels: labelsOf(tenant),
  }
}

function ownerOf({ kind, metadata }: ApiKeyResource | TenantResource) {
  return { kind, name: metadata.name, uid: metadata.uid } as const
}
