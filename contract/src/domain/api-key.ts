/**
 * API keys: `service_live_` and a random text. A key has 256 random bits, so its plain SHA-256 may be stored where others can read it, and
 * nobody keeps the key itself.
 */
import { sha256 } from '@platen/lib/canonical-json.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { randomSecret } from '@platen/lib/random-secret.ts'
import type { Environment, KeyHash } from './tenant.ts'

/** The random part of generated keys and of keys that a tenant brings. */
const BODY = '[0-9A-Za-z]{33,128}'

/** 48 bits identify a key. */
const KEY_ID_CHARS = 12

/** Random characters that are shown so that people recognise a key: 24 of its 256 bits. */
const SHOWN_CHARS = 4

/** `service_live_`, for example. */
export function keyPrefix(brand: string, environment: Environment): string {
  return `${brand}_${environment}_`
}

export function newApiKey(brand: string, environment: Environment, ids: Ids): string {
  return `${keyPrefix(brand, environment)}${randomSecret(ids)}`
}

/** The function returns undefined for a text that does not have the form of a key. */
export function environmentReader(brand: string): (text: string) => Environment | undefined {
  const forms = (['live', 'test'] as const).map((environment) => ({
    environment,
    form: new RegExp(`^${keyPrefix(brand, environment)}${BODY}$`),
  }))
  return (text) => forms.find(({ form }) => form.test(text))?.environment
}

export function hashOfKey(key: string): KeyHash {
  // `KeyHash` is defined as lower-case hex SHA-256.
  return sha256(key) as KeyHash
}

/** For logs and people. A prefix of the hash reveals nothing more. */
export function keyIdOf(hash: KeyHash): string {
  return hash.slice(0, KEY_ID_CHARS)
}

export function shownPartOf(key: string, prefix: string): string {
  return key.slice(0, prefix.length + SHOWN_CHARS)
}

/** Undefined if the text is no hash of a key. */
export function parseKeyHash(text: string): KeyHash | undefined {
  // The test checks the form.
  return /^[0-9a-f]{64}$/.test(text) ? (text as KeyHash) : undefined
}
