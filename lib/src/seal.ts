/**
 * Encrypts secrets that are stored where others may read: AES-256-GCM, with a key that is stored elsewhere. Pure and deterministic: the
 * same secret, key and name give the same text, so unchanged settings look unchanged. A reader can see that two texts are equal, and how
 * long a secret is. The nonce is a keyed hash of everything that is sealed, as in SIV modes (RFC 5297): two texts share one with a
 * probability of 2^-96.
 */
import assert from 'node:assert/strict'
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { hmacSha256 } from './hmac.ts'

/** 32 bytes. */
export type SealKey = Uint8Array

/** The first seals, all open: a rotation puts a new one first. */
export type SealKeys = readonly [SealKey, ...SealKey[]]

/** Only the same name and the key that sealed it open a text. */
export interface Seal {
  /** Purpose of the secret. */
  readonly name: string
  readonly keys: SealKeys
}

const VERSION = 'v1'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The form is `v1.<base64url>`. */
export function seal(secret: string, { name, keys: [key] }: Seal): string {
  // JSON, because joined texts could be split in two ways, and a nonce would be used for both.
  const nonce = hmacSha256(subkey(key, 'nonce'))
    .update(JSON.stringify([name, secret]))
    .digest()
    .subarray(0, NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', subkey(key, 'seal'), nonce)
  cipher.setAAD(associated(name))
  const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return `${VERSION}.${Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')}`
}

/** Undefined if the text has another name, none of the keys sealed it, or a character was changed. */
export function unseal(sealed: string, { name, keys }: Seal): string | undefined {
  for (const key of keys) {
    const secret = unsealBy(key, sealed, name)
    if (secret !== undefined) return secret
  }
  return undefined
}

/** Seals the same secret with the first key. Returns the text itself if that key sealed it already, or if no key opens it. */
export function reseal(sealed: string, { name, keys }: Seal): string {
  // With one key, the result would be sealed with the same one.
  const secret = keys.length === 1 ? undefined : unseal(sealed, { name, keys })
  return secret === undefined ? sealed : seal(secret, { name, keys })
}

/** From a process that signs webhooks. */
export interface SealKeyReport {
  readonly sealKeys: readonly string[]
  readonly ageMs: number
}

/** Public: 16 hexadecimal digits, which do not tell the key and cannot replace it. */
export function sealKeyId(key: SealKey): string {
  return Buffer.from(subkey(key, 'id')).toString('hex').slice(0, 16)
}

function unsealBy(key: SealKey, sealed: string, name: string): string | undefined {
  const text = sealed.slice(VERSION.length + 1)
  const bytes = Buffer.from(text, 'base64url')
  // Node also reads base64url with missing, added or trailing characters. Only the written spelling is valid.
  const isAsWritten = sealed === `${VERSION}.${bytes.toString('base64url')}`
  if (!isAsWritten || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', subkey(key, 'seal'), bytes.subarray(0, NONCE_BYTES))
  decipher.setAAD(associated(name))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const secret = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
  try {
    return Buffer.concat([secret, decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

function associated(name: string): Uint8Array {
  return Buffer.from(`${VERSION}:${name}`)
}

/** One key per use. */
function subkey(key: SealKey, use: string): Uint8Array {
  assert.equal(key.length, KEY_BYTES, 'a key that seals has 32 bytes')
  return hmacSha256(key).update(`platen ${use}`).digest()
}
