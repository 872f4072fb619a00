/**
 * The identity of a render: one 128-bit number in UUIDv7 layout. `render_id` is its ULID spelling, the webhook's `id` its UUID spelling.
 * The low 40 bits are a keyed tag over (tenant incarnation, environment, the other bits). So any API pod can tell without a look-up whether
 * an id was issued to this tenant and environment, and a forged or foreign id never reaches a store.
 *
 *     48 bits  Unix milliseconds          4 bits  version 7
 *     12 bits  random                     2 bits  variant
 *     22 bits  random                    40 bits  tag
 *
 * 34 random bits per millisecond: two ids issued in the same millisecond collide with probability 6e-11. A guessed tag is right once in
 * 10^12, behind a rate-limited endpoint, and even then the guess must name a render that exists.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Brand, Instant } from './brand.ts'
import type { Environment } from './tenant.ts'

/** 26 characters of Crockford's base32. */
export type RenderId = Brand<'RenderId'>

/** The tenant and environment that ids are issued to. */
export interface IdScope {
  readonly incarnation: string
  readonly environment: Environment
}

/** Keys of at least 32 bytes. The first signs, all verify: a rotation appends a new one, and then puts it first. */
export type KeyRing = readonly [Uint8Array, ...Uint8Array[]]

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const ULID_CHARS = 26
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const TAG_OFFSET = 11
const TAG_BYTES = 5
/** Random bytes that `mintRenderId` uses. */
export const RENDER_ID_RANDOM_BYTES = 5

/** Issues an id. `random` holds `RENDER_ID_RANDOM_BYTES` bytes of the caller's randomness. */
export function mintRenderId(scope: IdScope, keys: KeyRing, source: { now: Instant; random: Uint8Array }): RenderId {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(source.now, 0, 6)
  bytes.set(source.random.subarray(0, RENDER_ID_RANDOM_BYTES), 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  tagOf(bytes, scope, keys[0]).copy(bytes, TAG_OFFSET)
  return encode(bytes)
}

/**
 * The id, if `text` spells one that this key ring issued to this scope, as a ULID or as a UUID; else undefined. Accepts any text. Lower
 * case counts as upper case.
 */
export function verifyRenderId(text: string, scope: IdScope, keys: KeyRing): RenderId | undefined {
  const id = idOf(text)
  if (id === undefined) return undefined
  const bytes = decode(id)
  const hasLayout = (bytes.readUInt8(6) & 0xf0) === 0x70 && (bytes.readUInt8(8) & 0xc0) === 0x80
  const tag = bytes.subarray(TAG_OFFSET)
  // Every key is tried even after a match, so that the time taken does not reveal which key signed.
  const matches = keys.filter((key) => timingSafeEqual(tag, tagOf(bytes, scope, key)))
  return hasLayout && matches.length > 0 ? id : undefined
}

/**
 * The id that `text` spells, whoever issued it; undefined if it spells none. For operators of the service, who may name any render. Lower
 * case counts as upper case.
 */
export function parseRenderId(text: string): RenderId | undefined {
  const id = text.toUpperCase()
  return ULID.test(id) ? asRenderId(id) : undefined
}

/** When an id was issued. */
export function issuedAt(id: RenderId): Instant {
  return decode(id).readUIntBE(0, 6)
}

/** The lowest possible id issued at this time or later. Ids sort by the time they were issued. */
export function leastIdSince(instant: Instant): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Math.max(instant, 0), 0, 6)
  return encode(bytes)
}

/** The 16 bytes of an id. */
export function renderIdBytes(id: RenderId): Uint8Array {
  return decode(id)
}

/** The id of 16 bytes that this service has written. */
export function renderIdOf(bytes: Uint8Array): RenderId {
  return encode(Buffer.from(bytes))
}

/** The UUID spelling of an id: `id` in webhook bodies. */
export function renderUuid(id: RenderId): string {
  return uuidOf(decode(id))
}

/** The id in either spelling; undefined for any other text. */
function idOf(text: string): RenderId | undefined {
  if (UUID.test(text)) return encode(Buffer.from(text.replaceAll('-', ''), 'hex'))
  // In upper case, some letters become two.
  return text.length === ULID_CHARS ? parseRenderId(text) : undefined
}

/** 16 bytes in the usual hyphenated spelling. */
export function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

function tagOf(bytes: Buffer, scope: IdScope, key: Uint8Array): Buffer {
  return createHmac('sha256', key)
    .update(`render:${scope.environment}:${scope.incarnation}:`)
    .update(bytes.subarray(0, TAG_OFFSET))
    .digest()
    .subarray(0, TAG_BYTES)
}

function encode(bytes: Buffer): RenderId {
  let number = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let i = 0; i < 26; i++) {
    text = ALPHABET.charAt(Number(number & 31n)) + text
    number >>= 5n
  }
  return asRenderId(text)
}

function decode(id: string): Buffer {
  let number = 0n
  for (const character of id) number = (number << 5n) | BigInt(ALPHABET.indexOf(character))
  return Buffer.from(number.toString(16).padStart(32, '0'), 'hex')
}

function asRenderId(text: string): RenderId {
  // A RenderId is made in this file only: minted, verified, or read from an operator or a store of the service.
  return text as RenderId
}
