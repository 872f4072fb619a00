/**
 * Decides about the key of an ApiKey with `secretName`. The Secret takes precedence over the status only where it is ahead: when nothing is
 * known yet, or when it served a rotation that the status does not have. Otherwise the status counts, so that a key that somebody writes
 * into the Secret opens nothing. Pure.
 */

import { hashOfKey, keyIdOf, keyPrefix, parseKeyHash, shownPartOf } from '@platen/contract/domain/api-key.ts'
import { apiKeySpecDefaults } from '@platen/contract/domain/crd/api-key.ts'
import type { ApiKeyResource } from '@platen/contract/domain/resource.ts'
import { type ApiKeyStatus, ROTATE_KEY_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import { ENVIRONMENT_VALUES } from '@platen/contract/domain/resource-value.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { parseInstant } from '@platen/lib/instant.ts'
import type { FoundKey } from '@platen/settings/compile/api-key.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { ClusterSecret, SecretDecision, SecretLocation } from './cluster-secret.ts'
import {
  type DecisionInput,
  decideSecret,
  type Generated,
  keepWithFault,
  type Refusal,
  type Values,
} from './decide-secret.ts'
import { formatInstant, overlapEndIn, servedRotations, withServed } from './rotation.ts'

const HOUR_MS = 3_600_000

export type KeyStatus = Pick<ApiKeyStatus, 'keyId' | 'prefix' | 'sha256' | 'previous' | 'rotation'>

export interface KeyInput extends DecisionInput<KeyStatus> {
  readonly resource: ApiKeyResource
  readonly place: SecretLocation
  readonly brand: string
  readonly makeKey: () => string
}

export type KeyDecision = SecretDecision<FoundKey, KeyStatus>

export function decideKey(input: KeyInput): KeyDecision {
  return decideSecret(generatedKey(input), input)
}

/** For a Secret that may not be read: the known keys stay in force. */
export function keepKey(input: Omit<KeyInput, 'secret'>, refusal: Refusal): KeyDecision {
  return keepWithFault(generatedKey(input), { ...input, known: knownOf(input, undefined) }, refusal)
}

interface Key {
  readonly hash: KeyHash
  /** Absent when the Secret does not have it. */
  readonly text?: string
}

function generatedKey(input: Omit<KeyInput, 'secret'>): Generated<Key, FoundKey, KeyStatus> {
  const { resource, status, place, brand, makeKey } = input
  const { overlapHours, environment } = { ...apiKeySpecDefaults, ...resource.spec }
  const foundOf = ({ hash }: Key, previous: Values<Key>['previous']) => ({
    hash,
    ...(previous && { replaced: { hash: previous.value.hash, until: previous.until } }),
  })
  return {
    resource,
    noun: 'key',
    place,
    overlapMs: overlapHours * HOUR_MS,
    previousEntry: 'previousSha256',
    advice: {
      taken: 'remove it, or declare another ApiKey with another secretName',
      lost: `restore it, or request a new key with the annotation ${ROTATE_KEY_ANNOTATION} on ${labelOf(resource)}; the last key stays in force until then`,
    },
    isOurs: ({ data: { key } }) => key !== undefined && hashOfKey(key) === status.sha256,
    known(own) {
      const known = knownOf(input, own)
      return { ...known, wasMade: known.current !== undefined }
    },
    make() {
      const text = makeKey()
      return { hash: hashOfKey(text), text }
    },
    faultIn({ data: { key } }, { current }) {
      if (current?.text !== undefined) return undefined
      return key === undefined ? 'no longer has a key' : 'has a key other than the generated one'
    },
    dataOf: ({ current, previous }) => ({
      ...(current?.text !== undefined && { key: current.text }),
      ...(current && { keyId: keyIdOf(current.hash), sha256: current.hash }),
      previousSha256: previous?.value.hash,
    }),
    foundOf,
    refused: (refusal, { current, previous }) => ({ ...refusal, ...(current && { kept: foundOf(current, previous) }) }),
    statusOf({ current, previous }, rotation) {
      const { text } = current ?? {}
      const shown = text && shownPartOf(text, keyPrefix(brand, ENVIRONMENT_VALUES[environment]))
      const prefix = shown ?? status.prefix
      return {
        ...(current && { keyId: keyIdOf(current.hash), sha256: current.hash }),
        ...(prefix !== undefined && { prefix }),
        ...(previous && { previous: { sha256: previous.value.hash, until: formatInstant(previous.until) } }),
        ...(rotation !== undefined && { rotation }),
      }
    },
  }
}

function knownOf({ status, now }: Pick<KeyInput, 'status' | 'now'>, own: ClusterSecret | undefined): Values<Key> {
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
  const text = own?.data['key']
  const isSound = text !== undefined && hashOfKey(text) === known.hash
  return {
    ...(known.hash !== undefined && { current: { hash: known.hash, ...(isSound && { text }) } }),
    ...(known.previous !== undefined && now < known.previous.until && { previous: known.previous }),
    served: withServed(served, echoed),
  }
}

/** Returns the hash that was published for the Secret. Ignores a key that was edited since. */
function hashIn({ data }: ClusterSecret): KeyHash | undefined {
  const { key, sha256 = '' } = data
  return parseKeyHash(sha256) ?? (key === undefined ? undefined : hashOfKey(key))
}

function previousOf(sha256: string | undefined, until: Instant | undefined): Values<Key>['previous'] {
  const hash = parseKeyHash(sha256 ?? '')
  return hash === undefined || until === undefined ? undefined : { value: { hash }, until }
}
