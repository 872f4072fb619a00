/**
 * The receiver's side of webhooks: checks that a delivery comes from the service, is unchanged, and is recent. The signature covers the raw
 * bytes and is checked first; an unsigned body is never parsed.
 */
import { systemClock } from './clock.ts'
import { SharedError } from './error.ts'
import { edgeFaultOf } from './fault.ts'
import { eventOf, UUID, type WebhookEvent } from './webhook/event.ts'
import { keysOf } from './webhook/key.ts'

/** As `Request`, Node and other servers represent them. Names may be in any case. */
export type WebhookHeaders =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** Largest allowed difference between the receiver's clock and the time of signing. Default: 300. */
  readonly toleranceSeconds?: number
  /**
   * `standard`, the default, checks `webhook-signature` (Standard Webhooks): it covers the delivery id, and during a rotation it has
   * signatures by both secrets. `service` checks `X-Service-Signature` alone: then whoever has seen a delivery can repeat it under another
   * id while `toleranceSeconds` allows.
   */
  readonly scheme?: 'service' | 'standard'
  /** The word in the service's header names. Default: `service`; the operator of the service may have set another. */
  readonly brand?: string
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export type WebhookFault =
  /** A header is missing. */
  | 'missing_header'
  /** A header was sent twice, or its format is wrong. */
  | 'malformed_header'
  /** The signature does not start with the prefix of its scheme: `sha256=` or `v1,`. */
  | 'unknown_signature'
  /** It was signed too long ago, or the receiver's clock is ahead. */
  | 'stale_timestamp'
  /** The signing time is in the future: the receiver's clock is behind. */
  | 'future_timestamp'
  /** The delivery was signed with another secret or changed on its way, or the receiver's framework parsed and rewrote the body. */
  | 'signature_mismatch'
  /** The signature is valid, but this version does not know the event. */
  | 'unknown_event'

/** Why a delivery is refused. The message never contains what was sent. */
export class WebhookVerificationError extends SharedError {
  static {
    this.share('WebhookVerificationError')
  }

  override readonly name = 'WebhookVerificationError'
  readonly code: WebhookFault

  constructor(code: WebhookFault, message: string) {
    super(message)
    this.code = code
  }
}

const SCHEMES: readonly unknown[] = [undefined, 'standard', 'service'] satisfies VerifyOptions['scheme'][]

export const TOLERANCE_SECONDS = 300

/** A rotation needs two signatures. More would let any sender make the receiver compute them. */
const SIGNATURES_MAX = 8

const HEX = /^[0-9a-f]{64}$/
const BASE64 = /^[A-Za-z0-9+/]{43}=$/
const UNIX_SECONDS = /^[1-9]\d{0,11}$/

/**
 * Verifies a delivery and returns its event. `rawBody` is the body exactly as received, byte by byte. During a rotation, pass the old and
 * the new secret: a signature with any of them is valid. Rejects with `WebhookVerificationError` when the delivery is refused. Rejects with
 * `TypeError` when the receiver is set up wrongly: no secret, or an already parsed body.
 */
// oxlint-disable-next-line max-params -- three, and then the options
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, scheme, brand = 'service', now = systemClock.now }: VerifyOptions = {},
): Promise<WebhookEvent> {
  // This form also rejects NaN. No difference would be greater than NaN.
  if (!(toleranceSeconds >= 0)) throw new TypeError('toleranceSeconds must be a number from 0')
  if (!SCHEMES.includes(scheme)) throw new TypeError("scheme must be 'standard' or 'service'")
  const body = bytesOf(rawBody)
  const keys = await keysOf(secret, 'verify')
  const [signed, ...others] = readSigned(headers, { scheme, brand })
  const nowSeconds = Math.floor(now() / 1000)
  for (const { timestamp } of [signed, ...others]) checkTimestamp(timestamp, nowSeconds, toleranceSeconds)
  if (!(await isSignatureValid(signed, body, keys))) {
    const fault = [secret].flat().map(edgeFaultOf).find(Boolean)
    const hint = fault === undefined ? '' : `; the secret has ${fault}`
    throw new WebhookVerificationError('signature_mismatch', `no signature matches this body and secret${hint}`)
  }
  // The header with the event name is not signed, so it is ignored.
  const { deliveryId, timestamp } = signed
  const event = eventOf({ deliveryId, timestamp: new Date(Number(timestamp) * 1000) }, body)
  if (event !== undefined) return event
  throw new WebhookVerificationError('unknown_event', 'the signature is valid, but the event is unknown')
}

interface SignedHeaders {
  readonly deliveryId: string
  /** Unix seconds, exactly as sent. */
  readonly timestamp: string
  /** Signed before the body. */
  readonly prefix: string
  /** One valid signature is enough. */
  readonly signatures: readonly Uint8Array<ArrayBuffer>[]
}

/**
 * The scheme to check comes first. Unless a scheme is named, the service's own headers follow if they were sent: they must be well-formed
 * and recent, too.
 */
function readSigned(
  headers: WebhookHeaders,
  { scheme, brand }: { readonly scheme: VerifyOptions['scheme']; readonly brand: string },
): readonly [SignedHeaders, ...SignedHeaders[]] {
  if (scheme === 'service') return [readService(headers, brand)]
  const signed = readStandard(headers)
  const isOther = scheme === undefined && valuesOf(headers, `x-${brand}-signature`).length > 0
  return isOther ? [signed, readService(headers, brand)] : [signed]
}

function readService(headers: WebhookHeaders, brand: string): SignedHeaders {
  const name = `x-${brand}-signature`
  const text = valueOf(headers, name)
  if (!text.startsWith('sha256=')) throw unknownSignature(name, 'sha256=')
  const hex = text.slice('sha256='.length)
  if (!HEX.test(hex)) throw malformed(name)
  const timestamp = valueOf(headers, `x-${brand}-timestamp`, UNIX_SECONDS)
  const deliveryId = valueOf(headers, `x-${brand}-delivery`, UUID)
  const signature = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  return { deliveryId, timestamp, prefix: `${timestamp}.`, signatures: [signature] }
}

/** Standard Webhooks sign the id, too. The header may have several signatures, and some may be of other versions. */
function readStandard(headers: WebhookHeaders): SignedHeaders {
  const name = 'webhook-signature'
  const parts = valueOf(headers, name).split(' ')
  if (parts.length > SIGNATURES_MAX) throw malformed(name)
  const ours = parts.filter((part) => part.startsWith('v1,')).map((part) => part.slice('v1,'.length))
  if (ours.length === 0) throw unknownSignature(name, 'v1,')
  if (!ours.every((base64) => BASE64.test(base64))) throw malformed(name)
  const timestamp = valueOf(headers, 'webhook-timestamp', UNIX_SECONDS)
  const deliveryId = valueOf(headers, 'webhook-id', UUID)
  const signatures = ours.map((base64) => Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)))
  return { deliveryId, timestamp, prefix: `${deliveryId}.${timestamp}.`, signatures }
}

function valueOf(headers: WebhookHeaders, name: string, form?: RegExp): string {
  const [value, ...more] = valuesOf(headers, name)
  if (value === undefined) {
    const hint = name === 'webhook-signature' ? "; scheme: 'service' checks the service's own header alone" : ''
    throw new WebhookVerificationError('missing_header', `there is no header ${name}${hint}`)
  }
  if (more.length > 0 || form?.test(value) === false) throw malformed(name)
  return value
}

/** Node and `Headers` join a header that was sent twice with a comma. The joined text then fails our format checks. */
function valuesOf(headers: WebhookHeaders, name: string): readonly string[] {
  if (typeof headers.get === 'function') {
    const value: unknown = headers.get(name)
    return typeof value === 'string' ? [value] : []
  }
  return Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]: [string, unknown]) => (Array.isArray(value) ? value : [value]))
    .filter((value) => value !== undefined && value !== null)
    .map(String)
}

function malformed(name: string): WebhookVerificationError {
  return new WebhookVerificationError('malformed_header', `the header ${name} is malformed, or was sent twice`)
}

function unknownSignature(name: string, prefix: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'unknown_signature',
    `the header ${name} has no signature that begins with ${prefix}`,
  )
}

function checkTimestamp(text: string, nowSeconds: number, toleranceSeconds: number): void {
  const ageSeconds = nowSeconds - Number(text)
  if (ageSeconds > toleranceSeconds) {
    throw new WebhookVerificationError('stale_timestamp', `it was signed ${ageSeconds} seconds ago`)
  }
  if (-ageSeconds > toleranceSeconds) {
    throw new WebhookVerificationError('future_timestamp', `it was signed ${-ageSeconds} seconds in the future`)
  }
}

/**
 * `crypto.subtle.verify` compares in constant time, as its specification demands for HMAC, so nobody can find a signature byte by byte from
 * response times. A comparison in JavaScript could not promise this.
 */
async function isSignatureValid(
  { prefix, signatures }: SignedHeaders,
  body: Uint8Array,
  keys: Awaited<ReturnType<typeof keysOf>>,
): Promise<boolean> {
  const head = new TextEncoder().encode(prefix)
  const signed = new Uint8Array(head.length + body.length)
  signed.set(head)
  signed.set(body, head.length)
  const verdicts = keys.flatMap((key) =>
    signatures.map((signature) => crypto.subtle.verify('HMAC', key, signature, signed)),
  )
  return (await Promise.all(verdicts)).includes(true)
}

function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody)
  // Unlike `instanceof`, this also accepts bytes of another realm, as test runners and workers pass them.
  if (ArrayBuffer.isView(rawBody)) return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
  throw new TypeError('rawBody must be the bytes or the text that was received: turn off the JSON parser of this route')
}
