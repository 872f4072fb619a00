/**
 * API keys as they are handed out: `service_live_` and a text that nobody guesses. A key has 256 bits of chance, so that its plain
 * SHA-256 stands for it wherever others may read, and nobody needs to keep the key itself. Pure.
 */
import { sha256 } from './canonical-json.ts'
import type { Ids } from './port/ids.ts'
import { randomSecret } from './random-secret.ts'
import type { Environment, KeyHash } from './tenant.ts'

/** What the random part of a key may look like, whoever made it. */
const BODY = '[0-9A-Za-z]{33,128}'

/** Hexadecimal digits of a hash that tell one key from another: 48 bits. */
const KEY_ID_CHARS = 12

/** Characters of the random part that are shown, to recognise a key by: 24 bits of its 256. */
const SHOWN_CHARS = 4

/** What the keys of one environment begin with: `service_live_`. */
export function keyPrefix(brand: string, environment: Environment): string {
  return `${brand}_${environment}_`
}

/** Makes a key. */
export function newApiKey(brand: string, environment: Environment, ids: Ids): string {
  return `${keyPrefix(brand, environment)}${randomSecret(ids)}`
}

/** Which environment a text claims to be a key of; undefined where it does not have the form of a key of the brand. */
export function environmentReader(brand: string): (text: string) => Environment | undefined {
  const forms = (['live', 'test'] as const).map((environment) => ({
    environment,
    form: new RegExp(`^${keyPrefix(brand, environment)}${BODY}$`),
  }))
  return (text) => forms.find(({ form }) => form.test(text))?.environment
}

/** What a key is known by. */
export function hashOfKey(key: string): KeyHash {
  // Lower-case hex SHA-256 is what the type means.
  return sha256(key) as KeyHash
}

/** The short name of a key, for people to speak of: it says nothing that its hash does not. */
export function keyIdOf(hash: KeyHash): string {
  return hash.slice(0, KEY_ID_CHARS)
}

/** The beginning of a key, by which its holder recognises it. */
export function shownPartOf(key: string, prefix: string): string {
  return key.slice(0, prefix.length + SHOWN_CHARS)
}

/** The hash that a text is; undefined where it is none. */
export function parseKeyHash(text: string): KeyHash | undefined {
  // Its form has just been seen.
  return /^[0-9a-f]{64}$/.test(text) ? (text as KeyHash) : undefined
}
