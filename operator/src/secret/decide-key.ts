/**
 * Decides about the key of an ApiKey with `secretName`. From its Secret, its status, the requested rotation and the time, computes what
 * to write and what to publish. The Secret is written first, then the hash is published, then the status is written. After a crash in
 * between, the next run decides the same again, because the Secret records the decision. Pure.
 *
 * The Secret counts before the status only where it is ahead: when nothing is known yet, or when it served a rotation that the status
 * does not have. Otherwise the status counts, so that a key that somebody writes into the Secret opens nothing.
 */

import { hashOfKey, keyIdOf, keyPrefix, parseKeyHash, shownPartOf } from '@platen/contract/api-key.ts'
import type { Instant } from '@platen/contract/brand.ts'
import { apiKeySpecDefaults } from '@platen/contract/crd/api-key.ts'
import { parseInstant } from '@platen/contract/instant.ts'
import { type ApiKeyResource } from '@platen/contract/resource.ts'
import { ENVIRONMENT_VALUES } from '@platen/contract/resource-value.ts'
import { type ApiKeyStatus, ROTATE_KEY_ANNOTATION } from '@platen/contract/schema/resource.ts'
import type { KeyHash } from '@platen/contract/tenant.ts'
import type { FoundKey, ReplacedKey } from '@platen/settings/compile/api-key.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { SecretRefusalReason } from '@platen/settings/compile/tenant.ts'
import {
  type ClusterSecret,
  labelsOf,
  ownershipOf,
  repairOf,
  type SecretDecision,
  type WantedSecret,
} from './cluster-secret.ts'
import {
  formatInstant,
  overlapEndIn,
  PREVIOUS_UNTIL_ANNOTATION,
  type RotationRequest,
  rotationAnnotations,
  servedRotations,
  servedRotationText,
  withServed,
} from './rotation.ts'

const HOUR_MS = 3_600_000

/** The key fields in the status of an ApiKey. */
export type KeyStatus = Pick<ApiKeyStatus, 'keyId' | 'prefix' | 'sha256' | 'previous' | 'rotation'>

export interface KeyInput {
  readonly resource: ApiKeyResource
  /** The Secret `secretName`. */
  readonly secret: ClusterSecret | undefined
  readonly status: KeyStatus
  readonly asked: RotationRequest | undefined
  readonly now: Instant
  readonly brand: string
  readonly makeKey: () => string
}

export type KeyDecision = SecretDecision<FoundKey, KeyStatus>

export function decideKey(input: KeyInput): KeyDecision {
  const { resource, secret, asked } = input
  const ownership = secret && ownershipOf(secret, ownerOf(resource))
  const own = secret !== undefined && isOwn(input, secret) ? secret : undefined
  const known = knownOf(input, own)
  if (secret !== undefined && own === undefined && ownership !== 'predecessor')
    return keepWithFault(input, known, { fault: takenFault(resource), reason: 'SecretTaken' })
  const isAsked = asked !== undefined && !known.served.includes(asked.at)
  if (known.hash === undefined || isAsked)
    return secret?.isImmutable === true
      ? keepWithFault(input, known, { fault: immutableFault(resource) })
      : replaceKey(input, known)
  if (own === undefined) {
    const what = ownership === 'predecessor' ? 'belongs to an earlier ApiKey of the same name' : 'is gone'
    return keepWithFault(input, known, { fault: missingFault(resource, what) })
  }
  return keepAndRepair(input, { ...known, hash: known.hash }, own)
}

/** Decides about a key whose Secret may not be read: the known keys stay in force. */
export function keepKey(
  input: Omit<KeyInput, 'secret'>,
  refusal: { readonly fault: string; readonly reason: SecretRefusalReason },
) {
  const unseen = { ...input, secret: undefined }
  return keepWithFault(unseen, knownOf(unseen, undefined), refusal)
}

/** A Secret without an owner is ours if it has our key: a backup of ours was restored without its owner. */
function isOwn({ resource, status }: KeyInput, secret: ClusterSecret): boolean {
  const ownership = ownershipOf(secret, ownerOf(resource))
  const { key } = secret.data
  return ownership === 'own' || (ownership === 'orphan' && key !== undefined && hashOfKey(key) === status.sha256)
}

/** The keys known to be in force. */
interface KnownKeys {
  /** Absent when there never was a key. */
  readonly hash?: KeyHash
  /** Present while its overlap lasts. */
  readonly previous?: ReplacedKey
  readonly served: readonly Instant[]
}

function knownOf({ status, now }: KeyInput, own: ClusterSecret | undefined): KnownKeys {
  const hash = parseKeyHash(status.sha256 ?? '')
  const echoed = parseInstant(status.rotation ?? '')
  const served = own === undefined ? [] : servedRotations(own.annotations)
  const last = served.at(-1)
  const isAhead = hash === undefined || (last !== echoed && (echoed === undefined || served.includes(echoed)))
  const known =
    own !== undefined && isAhead
      ? {
          hash: hashIn(own) ?? hash,
          previous: previousOf(own.data['previousSha256'], overlapEndIn(own.annotations)),
        }
      : { hash, previous: previousOf(status.previous?.sha256, parseInstant(status.previous?.until ?? '')) }
  return {
    ...(known.hash !== undefined && { hash: known.hash }),
    ...(known.previous !== undefined && now < known.previous.until && { previous: known.previous }),
    served: withServed(served, echoed),
  }
}

/** Returns the hash that was published for the Secret. Ignores a key that was edited since. */
function hashIn({ data }: ClusterSecret): KeyHash | undefined {
  const { key, sha256 = '' } = data
  return parseKeyHash(sha256) ?? (key === undefined ? undefined : hashOfKey(key))
}

function previousOf(sha256: string | undefined, until: Instant | undefined): ReplacedKey | undefined {
  const hash = parseKeyHash(sha256 ?? '')
  return hash === undefined || until === undefined ? undefined : { hash, until }
}

/** Makes a new key. The key before it stays valid for the overlap, and the one before that ends. */
function replaceKey(input: KeyInput, known: KnownKeys): KeyDecision {
  const { resource, asked, now, makeKey } = input
  const overlapMs = (resource.spec.overlapHours ?? apiKeySpecDefaults.overlapHours) * HOUR_MS
  const key = makeKey()
  const next = {
    key,
    hash: hashOfKey(key),
    served: withServed(known.served, asked?.at),
    ...(known.hash !== undefined && overlapMs > 0 && { previous: { hash: known.hash, until: now + overlapMs } }),
  }
  return {
    ...decisionOf(input, next),
    found: foundOf(next),
    write: wantedOf(resource, next),
    isNew: true,
    repaired: [],
  }
}

/** Keeps the key, and repairs the rest of the Secret. */
function keepAndRepair(
  input: KeyInput,
  known: KnownKeys & { readonly hash: KeyHash },
  own: ClusterSecret,
): KeyDecision {
  const { resource, now } = input
  const { key } = own.data
  const isSound = key !== undefined && hashOfKey(key) === known.hash
  const next = { ...known, ...(key !== undefined && { key }) }
  const end = overlapEndIn(own.annotations)
  const isOver = known.previous === undefined && end !== undefined && end <= now
  const decision = {
    ...decisionOf(input, isSound ? next : known),
    ...repairOf(own, wantedOf(resource, next), isOver ? OVERLAP_FIELDS : []),
  }
  if (isSound) return { ...decision, found: foundOf(known) }
  const what = key === undefined ? 'no longer has a key' : 'has a key other than the generated one'
  return { ...decision, found: { fault: missingFault(resource, what), kept: foundOf(known) } }
}

const OVERLAP_FIELDS = ['data.previousSha256', `annotations.${PREVIOUS_UNTIL_ANNOTATION}`]

/** Leaves the Secret alone, and keeps the known keys in force. */
function keepWithFault(
  input: KeyInput,
  { hash, ...known }: KnownKeys,
  refusal: { readonly fault: string; readonly reason?: SecretRefusalReason },
): KeyDecision {
  const kept = hash && { hash, ...known }
  return {
    ...decisionOf(input, { hash, ...known }),
    found: { ...refusal, ...(kept && { kept: foundOf(kept) }) },
    isNew: false,
    repaired: [],
  }
}

interface NextKeys {
  /** Absent when the key itself is not available. */
  readonly key?: string
  readonly hash?: KeyHash | undefined
  readonly previous?: ReplacedKey
  readonly served: readonly Instant[]
}

function decisionOf(
  { resource, status, asked, brand }: KeyInput,
  { key, hash, previous, served }: NextKeys,
): Pick<KeyDecision, 'status' | 'retryAt'> {
  const rotation = servedRotationText(served, [asked?.text, status.rotation])
  const prefix =
    key === undefined
      ? status.prefix
      : shownPartOf(
          key,
          keyPrefix(brand, ENVIRONMENT_VALUES[resource.spec.environment ?? apiKeySpecDefaults.environment]),
        )
  return {
    status: {
      ...(hash !== undefined && { keyId: keyIdOf(hash), sha256: hash }),
      ...(prefix !== undefined && { prefix }),
      ...(previous !== undefined && {
        previous: { sha256: previous.hash, until: formatInstant(previous.until) },
      }),
      ...(rotation !== undefined && { rotation }),
    },
    ...(previous !== undefined && { retryAt: previous.until }),
  }
}

function foundOf({ hash, previous }: { readonly hash: KeyHash; readonly previous?: ReplacedKey }) {
  return { hash, ...(previous !== undefined && { replaced: previous }) }
}

function wantedOf(
  resource: ApiKeyResource,
  { key, hash, previous, served }: NextKeys & { hash: KeyHash },
): WantedSecret {
  const tenant = resource.spec.tenantRef.name
  return {
    owner: ownerOf(resource),
    data: {
      ...(key !== undefined && { key }),
      keyId: keyIdOf(hash),
      sha256: hash,
      tenant,
      previousSha256: previous && previous.hash,
    },
    annotations: rotationAnnotations(served, previous?.until),
    labels: labelsOf(tenant),
  }
}

function ownerOf({ metadata }: ApiKeyResource) {
  return { kind: 'ApiKey', name: metadata.name, uid: metadata.uid } as const
}

function takenFault(resource: ApiKeyResource): string {
  return `${secretOf(resource)} does not belong to ${labelOf(resource)}: remove it, or declare another ApiKey with another secretName`
}

function immutableFault(resource: ApiKeyResource): string {
  return `${secretOf(resource)} is immutable, so no new key can be written to it: remove it`
}

function missingFault(resource: ApiKeyResource, what: string): string {
  return `${secretOf(resource)} ${what}: restore it, or request a new key with the annotation ${ROTATE_KEY_ANNOTATION} on ${labelOf(resource)}; the last key stays in force until then`
}

function secretOf({ metadata, spec }: ApiKeyResource): string {
  return `Secret ${metadata.namespace}/${spec.secretName}`
}
