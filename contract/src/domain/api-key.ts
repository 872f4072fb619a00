/**
 * Makes and parses API keys: `service_live_` and a random text. A key has 256 random bits, so its plain SHA-256 can be stored where others
 * may read it, and nobody needs to keep the key itself. Pure.
 */
import { sha256 } from '@platen/lib/canonical-json.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { randomSecret } from '@platen/lib/random-secret.ts'
import type { Environment, KeyHash } from './tenant.ts'

/** Form of the random part, for generated keys and for keys that a tenant brings. */
const BODY = '[0-9A-Za-z]{33,128}'

/** Hexadecimal digits of a hash that identify a key: 48 bits. */
const KEY_ID_CHARS = 12

/** Characters of the random part that are shown, so that people recognise a key: 24 of its 256 bits. */
const SHOWN_CHARS = 4

/** The prefix of all keys of one environment: `service_live_`. */
export function keyPrefix(brand: string, environment: Environment): string {
  return `${brand}_${environment}_`
}

/** Generates a key. */
export function newApiKey(brand: string, environment: Environment, ids: Ids): string {
  return `${keyPrefix(brand, environment)}${randomSecret(ids)}`
}

/** Makes a function that tells the environment of a key by its prefix. Undefined for a text that does not have the form of a key. */
export function environmentReader(brand: string): (text: string) => Environment | undefined {
  const forms = (['live', 'test'] as const).map((environment) => ({
    environment,
    form: new RegExp(`^${keyPrefix(brand, environment)}${BODY}$`),
  }))
  return (text) => forms.find(({ form }) => form.test(text))?.environment
}

/** The SHA-256 by which a key is stored and found. */
export function hashOfKey(key: string): KeyHash {
  // `KeyHash` is defined as lower-case hex SHA-256.
  return sha256(key) as KeyHash
}

/** A short name of a key for logs and people. It is a prefix of the hash, so it reveals nothing more. */
export function keyIdOf(hash: KeyHash): string {
  return hash.slice(0, KEY_ID_CHARS)
}

/** The first characters of a key, by which its owner recognises it. */
export function shownPartOf(key: string, prefix: string): string {
  return key.slice(0, prefix.length + SHOWN_CHARS)
}

/** Parses the hash of a key. Undefined if the text is not one. */
export function parseKeyHash(text: string): KeyHash | undefined {
  // The test checks the form.
  return /^[0-9a-f]{64}$/.test(text) ? (text as KeyHash) : undefined
}
