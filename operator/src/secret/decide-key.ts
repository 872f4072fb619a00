/**
 * What becomes of the key of an ApiKey with `secretName`: given its Secret, its status, what is asked for and the time, what to write
 * and what to publish. The Secret is written first, then the hash is published, then the status is written; who dies in between decides
 * the same again, as the Secret says what was decided. Pure.
 *
 * A Secret counts before the status only where it is ahead of it: when nothing is known yet, or when it has served a rotation
 * that the status does not tell of. Else the status counts, so that a key which somebody writes into the Secret opens nothing.
 */
import { hashOfKey, keyIdOf, keyPrefix, parseKeyHash, shownPartOf } from '@platen/contract/api-key.ts'
import type { Instant } from '@platen/contract/brand.ts'
import { parseInstant } from '@platen/contract/instant.ts'
import { type ApiKeyResource } from '@platen/contract/resource.ts'
import { ROTATE_KEY_ANNOTATION } from '@platen/contract/schema/resource.ts'
import type { KeyHash } from '@platen/contract/tenant.ts'
import type { FoundKey, ReplacedKey } from '@platen/settings/compile/api-key.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { SecretFault } from '@platen/settings/compile/tenant.ts'
import { differencesBetween, type HeldSecret, labelsOf, standingOf, type WantedSecret } from './held-secret.ts'
import { KEY_OVERLAP_HOURS_DEFAULT } from './limit.ts'
import {
  type Asked,
  echoOf,
  overlapEndIn,
  PREVIOUS_UNTIL_ANNOTATION,
  rotationAnnotations,
  servedBy,
  spellInstant,
  withServed,
} from './rotation.ts'

const HOUR_MS = 3_600_000

/** What the status of an ApiKey says of its key. Hashes are hexadecimal, in small letters; times as in RFC 3339. */
export interface KeyStatus {
  readonly keyId?: string
  /** The beginning of the key. */
  readonly prefix?: string
  readonly sha256?: string
  /** The key before the last rotation, as long as its overlap lasts. */
  readonly previous?: { readonly sha256: string; readonly until: string }
  /** The last rotation served. */
  readonly rotation?: string
}

export interface KeyLook {
  readonly resource: ApiKeyResource
  /** Of `secretName`. */
  readonly secret: HeldSecret | undefined
  readonly status: KeyStatus
  readonly asked: Asked | undefined
  readonly now: Instant
  readonly brand: string
  readonly makeKey: () => string
}

export interface KeyVerdict {
  readonly found: FoundKey
  /** To be written when the hashes are published. */
  readonly status: KeyStatus
  /** What the Secret is to be before anything is published; absent where it is so, or not ours to write. */
  readonly write?: WantedSecret
  /** Does the write bring a new key? */
  readonly isNew: boolean
  /** The fields of the Secret that somebody else has changed, and that the write puts right. */
  readonly repaired: readonly string[]
  /** When to look again: an overlap ends. */
  readonly again?: Instant
}

export function decideKey(look: KeyLook): KeyVerdict {
  const { resource, secret, asked } = look
  const standing = secret && standingOf(secret, ownerOf(resource))
  const own = secret !== undefined && isOwn(look, secret) ? secret : undefined
  const known = knownOf(look, own)
  if (secret !== undefined && own === undefined && standing !== 'predecessor')
    return refuse(look, known, { fault: takenFault(resource), reason: 'SecretTaken' })
  const isAsked = asked !== undefined && !known.served.includes(asked.at)
  if (known.hash === undefined || isAsked)
    return secret?.isImmutable === true ? refuse(look, known, { fault: immutableFault(resource) }) : renew(look, known)
  if (own === undefined) {
    const what = standing === 'predecessor' ? 'is that of an ApiKey which had the name before' : 'is gone'
    return refuse(look, known, { fault: missingFault(resource, what) })
  }
  return uphold(look, { ...known, hash: known.hash }, own)
}

/** What becomes of a key whose Secret may not be looked at: the keys known stay in force. */
export function keepKey(
  look: Omit<KeyLook, 'secret'>,
  refusal: { readonly fault: string; readonly reason: SecretFault },
) {
  const unseen = { ...look, secret: undefined }
  return refuse(unseen, knownOf(unseen, undefined), refusal)
}

/** One without an owner is ours where it has our key: who restored it, with its owner left out, had it from us. */
function isOwn({ resource, status }: KeyLook, secret: HeldSecret): boolean {
  const standing = standingOf(secret, ownerOf(resource))
  const { key } = secret.data
  return standing === 'own' || (standing === 'orphan' && key !== undefined && hashOfKey(key) === status.sha256)
}

/** What is known of the keys in force. */
interface Known {
  /** Absent where there never was a key. */
  readonly hash?: KeyHash
  /** Its overlap is not over. */
  readonly previous?: ReplacedKey
  readonly served: readonly Instant[]
}

function knownOf({ status, now }: KeyLook, own: HeldSecret | undefined): Known {
  const hash = parseKeyHash(status.sha256 ?? '')
  const echoed = parseInstant(status.rotation ?? '')
  const served = own === undefined ? [] : servedBy(own.annotations)
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

/** What was published of it: a key that was edited since is not. */
function hashIn({ data }: HeldSecret): KeyHash | undefined {
  const { key, sha256 = '' } = data
  return parseKeyHash(sha256) ?? (key === undefined ? undefined : hashOfKey(key))
}

function previousOf(sha256: string | undefined, until: Instant | undefined): ReplacedKey | undefined {
  const hash = parseKeyHash(sha256 ?? '')
  return hash === undefined || until === undefined ? undefined : { hash, until }
}

/** A new key; the one before it lives on for the overlap, and the one before that ends. */
function renew(look: KeyLook, known: Known): KeyVerdict {
  const { resource, asked, now, makeKey } = look
  const overlapMs = (resource.spec.overlapHours ?? KEY_OVERLAP_HOURS_DEFAULT) * HOUR_MS
  const key = makeKey()
  const next = {
    key,
    hash: hashOfKey(key),
    served: withServed(known.served, asked?.at),
    ...(known.hash !== undefined && overlapMs > 0 && { previous: { hash: known.hash, until: now + overlapMs } }),
  }
  return { ...verdictOf(look, next), found: foundOf(next), write: wantedOf(resource, next), isNew: true, repaired: [] }
}

/** The key stays; what else the Secret says is put right. */
function uphold(look: KeyLook, known: Known & { readonly hash: KeyHash }, own: HeldSecret): KeyVerdict {
  const { resource, now } = look
  const { key } = own.data
  const isSound = key !== undefined && hashOfKey(key) === known.hash
  const next = { ...known, ...(key !== undefined && { key }) }
  const wanted = wantedOf(resource, next)
  const differing = own.isImmutable ? [] : differencesBetween(own, wanted)
  const end = overlapEndIn(own.annotations)
  const isOver = known.previous === undefined && end !== undefined && end <= now
  const verdict = {
    ...verdictOf(look, isSound ? next : known),
    ...(differing.length > 0 && { write: wanted }),
    isNew: false,
    repaired: differing.filter((field) => !(isOver && OVERLAP_FIELDS.includes(field))),
  }
  if (isSound) return { ...verdict, found: foundOf(known) }
  const what = key === undefined ? 'has no key any more' : 'has another key than the one that was made'
  return { ...verdict, found: { fault: missingFault(resource, what), kept: foundOf(known) } }
}

const OVERLAP_FIELDS = ['data.previousSha256', `annotations.${PREVIOUS_UNTIL_ANNOTATION}`]

/** The Secret is left alone, and the keys known stay in force. */
function refuse(
  look: KeyLook,
  { hash, ...known }: Known,
  refusal: { readonly fault: string; readonly reason?: SecretFault },
): KeyVerdict {
  const kept = hash && { hash, ...known }
  return {
    ...verdictOf(look, { hash, ...known }),
    found: { ...refusal, ...(kept && { kept: foundOf(kept) }) },
    isNew: false,
    repaired: [],
  }
}

interface Keys {
  /** Where it is to be had. */
  readonly key?: string
  readonly hash?: KeyHash | undefined
  readonly previous?: ReplacedKey
  readonly served: readonly Instant[]
}

function verdictOf(
  { resource, status, asked, brand }: KeyLook,
  { key, hash, previous, served }: Keys,
): Pick<KeyVerdict, 'status' | 'again'> {
  const rotation = echoOf(served, [asked?.text, status.rotation])
  const prefix =
    key === undefined ? status.prefix : shownPartOf(key, keyPrefix(brand, resource.spec.environment ?? 'live'))
  return {
    status: {
      ...(hash !== undefined && { keyId: keyIdOf(hash), sha256: hash }),
      ...(prefix !== undefined && { prefix }),
      ...(previous !== undefined && {
        previous: { sha256: previous.hash, until: spellInstant(previous.until) },
      }),
      ...(rotation !== undefined && { rotation }),
    },
    ...(previous !== undefined && { again: previous.until }),
  }
}

function foundOf({ hash, previous }: { readonly hash: KeyHash; readonly previous?: ReplacedKey }) {
  return { hash, ...(previous !== undefined && { replaced: previous }) }
}

function wantedOf(resource: ApiKeyResource, { key, hash, previous, served }: Keys & { hash: KeyHash }): WantedSecret {
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
  return `${secretOf(resource)} is not of ${labelOf(resource)}: remove it, or declare another ApiKey with another secretName`
}

function immutableFault(resource: ApiKeyResource): string {
  return `${secretOf(resource)} is immutable, so that no new key can be written: remove it`
}

function missingFault(resource: ApiKeyResource, what: string): string {
  return `${secretOf(resource)} ${what}: restore it, or have a new key made by the annotation ${ROTATE_KEY_ANNOTATION} of ${labelOf(resource)}; the last key stays in force until then`
}

function secretOf({ metadata, spec }: ApiKeyResource): string {
  return `Secret ${metadata.namespace}/${spec.secretName}`
}
