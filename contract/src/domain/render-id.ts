/**
 * The identity of a render: one 128-bit number in UUIDv7 layout. `render_id` is its ULID spelling, the webhook's `id` its UUID spelling.
 * The low 40 bits are a keyed tag over (account, environment, the other bits). So any API pod can tell without a look-up whether
 * an id was issued to this tenant and environment, and no forged or foreign id reaches a store.
 *
 *     48 bits  Unix milliseconds          4 bits  version 7
 *     12 bits  random                     2 bits  variant
 *     22 bits  random                    40 bits  tag
 *
 * 34 random bits per millisecond: two ids issued in the same millisecond collide with probability 6e-11. A guessed tag is right once in
 * 10^12, behind a rate-limited endpoint, and even then the guess must name a render that exists.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Brand, Instant } from '@platen/lib/brand.ts'
import { hmacSha256 } from '@platen/lib/hmac.ts'
import type { Environment } from './tenant.ts'

/** 26 characters of Crockford's base32. */
export type RenderId = Brand<'RenderId'>

/** Its tag differs from that of a render, so that neither is taken for the other. */
export type BatchId = Brand<'BatchId'>

export interface IdScope {
  readonly account: string
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
export const RENDER_ID_RANDOM_BYTES = 5

/** `random` holds `RENDER_ID_RANDOM_BYTES` bytes of the caller's randomness. */
export function mintRenderId(scope: IdScope, keys: KeyRing, source: { now: Instant; random: Uint8Array }): RenderId {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(source.now, 0, 6)
  bytes.set(source.random.subarray(0, RENDER_ID_RANDOM_BYTES), 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return tagged(bytes, { kind: 'render', scope, keys })
}

export function mintBatchId(scope: IdScope, keys: KeyRing, source: { now: Instant; random: Uint8Array }): BatchId {
  return asBatchId(tagged(decode(mintRenderId(scope, keys, source)), { kind: 'batch', scope, keys }))
}

/**
 * The ids of a batch's renders, in the order of its items. They have the batch's time, and the numbers that follow its random bits, so they
 * differ from each other, and the same key always gives the same ids.
 */
export function renderIdsOfBatch(id: BatchId, count: number, { scope, keys }: Omit<Tagging, 'kind'>): RenderId[] {
  const bytes = decode(id)
  const base = randomIn(bytes)
  return Array.from({ length: count }, (_, at) => {
    writeRandom(bytes, (base + 1 + at) % RANDOM_NUMBERS)
    return tagged(bytes, { kind: 'render', scope, keys })
  })
}

/** Undefined if `text` is not an id, as ULID or UUID, that this key ring issued to this scope. Accepts any text, in upper or lower case. */
export function verifyRenderId(text: string, scope: IdScope, keys: KeyRing): RenderId | undefined {
  return verify(text, { kind: 'render', scope, keys })
}

export function verifyBatchId(text: string, scope: IdScope, keys: KeyRing): BatchId | undefined {
  const id = verify(text, { kind: 'batch', scope, keys })
  return id && asBatchId(id)
}

function verify(text: string, { kind, scope, keys }: Tagging): RenderId | undefined {
  const id = idOf(text)
  if (id === undefined) return undefined
  const bytes = decode(id)
  const hasLayout = (bytes.readUInt8(6) & 0xf0) === 0x70 && (bytes.readUInt8(8) & 0xc0) === 0x80
  const tag = bytes.subarray(TAG_OFFSET)
  // Tries every key even after a match, so that the time taken does not reveal which key signed.
  const matches = keys.filter((key) => timingSafeEqual(tag, tagOf(bytes, { kind, scope, key })))
  return hasLayout && matches.length > 0 ? id : undefined
}

/**
 * The id in `text`, whoever issued it; undefined if there is none. For operators of the service, who may name any render. Lower case counts
 * as upper case.
 */
export function parseRenderId(text: string): RenderId | undefined {
  const id = text.toUpperCase()
  return ULID.test(id) ? asRenderId(id) : undefined
}

export function issuedAt(id: RenderId | BatchId): Instant {
  return decode(id).readUIntBE(0, 6)
}

/** The lowest possible id issued at this time or later: ids sort by the time of issue. */
export function leastIdSince(instant: Instant): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Math.max(instant, 0), 0, 6)
  return encode(bytes)
}

export function renderIdBytes(id: RenderId | BatchId): Uint8Array {
  return decode(id)
}

/** Takes 16 bytes that this service has written. */
export function renderIdOf(bytes: Uint8Array): RenderId {
  return encode(Buffer.from(bytes))
}

/** `id` in webhook bodies. */
export function renderUuid(id: RenderId): string {
  return uuidOf(decode(id))
}

/** Accepts either spelling; undefined for any other text. */
function idOf(text: string): RenderId | undefined {
  if (UUID.test(text)) return encode(Buffer.from(text.replaceAll('-', ''), 'hex'))
  // Some letters become two in upper case.
  return text.length === ULID_CHARS ? parseRenderId(text) : undefined
}

export function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** The kind of an id, and to whom it is issued with which keys. */
interface Tagging {
  readonly kind: 'render' | 'batch'
  readonly scope: IdScope
  readonly keys: KeyRing
}

function tagged(bytes: Buffer, { kind, scope, keys: [key] }: Tagging): RenderId {
  tagOf(bytes, { kind, scope, key }).copy(bytes, TAG_OFFSET)
  return encode(bytes)
}

const RANDOM_NUMBERS = 2 ** 34

/** Orders the ids of a millisecond. */
function randomIn(bytes: Buffer): number {
  return (bytes.readUInt16BE(6) & 0x0fff) * 2 ** 22 + (bytes.readUIntBE(8, 3) & 0x3fffff)
}

function writeRandom(bytes: Buffer, number: number): void {
  bytes.writeUInt16BE(0x7000 | Math.floor(number / 2 ** 22), 6)
  bytes.writeUIntBE(0x800000 | (number % 2 ** 22), 8, 3)
}

function tagOf(bytes: Buffer, { kind, scope, key }: Omit<Tagging, 'keys'> & { readonly key: Uint8Array }): Buffer {
  return hmacSha256(key)
    .update(`${kind}:${scope.environment}:${scope.account}:`)
    .update(bytes.subarray(0, TAG_OFFSET))
    .digest()
    .subarray(0, TAG_BYTES)
}

/** 26 characters have room for 130 bits. The first two are zero. */
const LEADING_ZEROS = 2

function encode(bytes: Buffer): RenderId {
  let text = ''
  let bits = 0
  let count = LEADING_ZEROS
  for (const byte of bytes) {
    bits = (bits << 8) | byte
    count += 8
    while (count >= 5) {
      count -= 5
      text += ALPHABET.charAt((bits >> count) & 31)
    }
    bits &= 31
  }
  return asRenderId(text)
}

function decode(id: string): Buffer {
  const bytes = Buffer.alloc(16)
  let at = 0
  let bits = 0
  let count = -LEADING_ZEROS
  for (const character of id) {
    bits = ((bits & 0xff) << 5) | ALPHABET.indexOf(character)
    count += 5
    if (count < 8) continue
    count -= 8
    bytes[at++] = bits >> count
  }
  return bytes
}

function asBatchId(id: RenderId): BatchId {
  // The tag is that of a batch: minted or verified in this file.
  const text: string = id
  return text as BatchId
}

function asRenderId(text: string): RenderId {
  // RenderIds are made in this file only: minted, verified, or read from an operator or a store of the service.
  return text as RenderId
}
