/**
 * Reads the body of a request. Fastify's own reader has answers in another format, does not handle a client that is still sending, and
 * passes on `__proto__` and numbers like 1e999.
 */
import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'
import { type ErrorDetail, ServiceError } from '@platen/contract/domain/error.ts'
import { BODY_BYTES_MAX, JSON_DEPTH_MAX } from '@platen/contract/domain/limit.ts'
import type { Json } from '@platen/lib/brand.ts'
import type { BodyPayer } from '../traffic/throttle.ts'
import { faultIndexOf, hintAt, placeOf } from './json-fault.ts'
import { findLoss, inspect, scan } from './json-value.ts'

interface BodyReading {
  readonly payers: readonly BodyPayer[]
  /** Called before the first byte is read, unless the headers speak against the body. */
  readonly proceed?: (() => void) | undefined
  /** Absent means a body for a render. */
  readonly form?: BodyForm
}

export interface BodyForm {
  readonly bytesMax: number
  /** NDJSON: a JSON text in each line. */
  readonly isNdjsonAllowed: boolean
}

const RENDER: BodyForm = { bytesMax: BODY_BYTES_MAX, isNdjsonAllowed: false }

/**
 * The bytes of a body, inflated if it is sent as gzip. Charges each payer before it keeps bytes. Throws `INVALID_PAYLOAD`,
 * `PAYLOAD_TOO_LARGE` and `UNSUPPORTED_MEDIA_TYPE`, and what the payers throw.
 */
export async function readBody(request: IncomingMessage, reading: BodyReading): Promise<Uint8Array> {
  const bytes = await readBytes(request, reading)
  if (bytes.length === 0) throw invalidBody('The request has no body.')
  refuseOtherMedia(request, reading.form ?? RENDER)
  return GZIP.test(request.headers['content-encoding'] ?? '') ? await inflate(bytes, reading) : bytes
}

/**
 * Parses JSON. Throws `INVALID_PAYLOAD` for bytes that are not UTF-8 or not JSON, that nest too deeply, contain an unsafe value, or would
 * lose something in parsing. `subject` is their name in messages.
 */
export function parseBody(bytes: Uint8Array, subject = 'The body'): Json {
  const text = scan(bytes, JSON_DEPTH_MAX + 1)
  if (text.depth > JSON_DEPTH_MAX) {
    throw invalidBody(`${subject} nests arrays and objects more than ${JSON_DEPTH_MAX} levels deep.`)
  }
  const decoded = decodeUtf8(bytes, subject)
  const value = parseJson(decoded, subject)
  const { names, fault } = inspect(value)
  // Parsing keeps one of two members with the same name.
  const mayLose = text.hasLongInteger || text.members !== names
  const found = fault ?? (mayLose ? findLoss(decoded) : undefined)
  if (found !== undefined) {
    throw invalidBody(`${subject} cannot be accepted: ${found.path} ${found.message}.`, [found])
  }
  return value
}

async function readBytes(
  request: IncomingMessage,
  { payers, proceed, form: { bytesMax } = RENDER }: BodyReading,
): Promise<Uint8Array> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > bytesMax) throw tooLarge(bytesMax, `it has ${declared}`)
  const take = (bytes: number, pieces: number) => {
    for (const payer of payers) payer.charge(bytes, pieces)
  }
  take(declared, 0)
  proceed?.()
  const body = growingBytes(declared)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let pieces = 0
  const onData = (chunk: Uint8Array) => {
    pieces += 1
    const length = body.length() + chunk.length
    try {
      if (length > bytesMax) throw tooLarge(bytesMax, 'it has more')
      take(length, pieces)
      body.add(chunk)
    } catch (refusal) {
      reject(refusal)
    }
  }
  const onClose = () => reject(invalidBody('The body ended before it was complete.'))
  const onEnd = () => {
    // Without this, the close of the request would make an error that nobody reads, which takes a while.
    request.off('close', onClose)
    resolve()
  }
  request.on('data', onData).once('end', onEnd).once('close', onClose).once('error', onClose)
  // It may have closed before this call.
  if (request.destroyed) onClose()
  try {
    await promise
  } finally {
    // Not `for await`: it would destroy the request, and with it the connection that the refusal needs.
    request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose).pause()
  }
  return body.bytes()
}

const INFLATED_BYTES_PER_PIECE = 64 * 1024

/** Inflates a body in pieces, outside of the main thread, until it ends or is too large. The payers pay for both of its forms. */
async function inflate(
  compressed: Uint8Array,
  { payers, form: { bytesMax } = RENDER }: BodyReading,
): Promise<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: INFLATED_BYTES_PER_PIECE })
  const body = growingBytes(compressed.length)
  gunzip.end(compressed)
  try {
    for await (const piece of gunzip) {
      const length = body.length() + piece.length
      if (length > bytesMax) throw tooLarge(bytesMax, 'inflated, it has more')
      for (const payer of payers) payer.charge(compressed.length + length, 0)
      body.add(piece)
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw invalidBody('The body is not valid gzip.')
  }
  if (body.length() === 0) throw invalidBody('The request has no body.')
  return body.bytes()
}

const GROWN_BYTES_MIN = 16 * 1024

/** Collects pieces in one array. Separate pieces of one byte would need a hundred times the memory. */
function growingBytes(expected: number) {
  let bytes = new Uint8Array(expected)
  let length = 0
  return {
    length: () => length,
    add(piece: Uint8Array) {
      if (length + piece.length > bytes.length) {
        const grown = new Uint8Array(Math.max(2 * bytes.length, length + piece.length, GROWN_BYTES_MIN))
        grown.set(bytes)
        bytes = grown
      }
      bytes.set(piece, length)
      length += piece.length
    },
    bytes: () => bytes.subarray(0, length),
  }
}

function invalidBody(message: string, details: readonly ErrorDetail[] = []): ServiceError {
  return new ServiceError('INVALID_PAYLOAD', message, { reason: 'invalid_body', details })
}

function tooLarge(bytesMax: number, found: string): ServiceError {
  return new ServiceError('PAYLOAD_TOO_LARGE', `The body may have at most ${bytesMax} bytes; ${found}.`)
}

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(;|$)/i
const NDJSON_MEDIA_TYPE = /^application\/x-ndjson[ \t]*(;|$)/i
/** One coding only: a list could inflate a body again and again. The second name is an older one (RFC 9110 §8.4.1.3). */
const GZIP = /^(x-)?gzip$/i
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*"?([^";\s]*)/i

export function isNdjson({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return NDJSON_MEDIA_TYPE.test(headers['content-type'] ?? '')
}

function refuseOtherMedia(request: IncomingMessage, { isNdjsonAllowed }: BodyForm): void {
  const { headers } = request
  const type = headers['content-type'] ?? ''
  const charset = CHARSET.exec(type)?.[1] ?? 'utf-8'
  const encoding = headers['content-encoding'] ?? 'identity'
  if (!JSON_MEDIA_TYPE.test(type) && !(isNdjsonAllowed && isNdjson(request))) {
    const or = isNdjsonAllowed ? ' or `application/x-ndjson`' : ''
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', `Send the body as \`Content-Type: application/json\`${or}.`)
  }
  if (!/^utf-?8$/i.test(charset)) throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8.')
  if (!/^(identity)?$/i.test(encoding) && !GZIP.test(encoding)) {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as `Content-Encoding: gzip`, or without one.')
  }
}

function decodeUtf8(bytes: Uint8Array, subject: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalidBody(`${subject} is not valid UTF-8.`)
  }
}

function parseJson(text: string, subject: string): Json {
  try {
    // `Json` is by definition what JSON.parse returns.
    return JSON.parse(text) as Json
  } catch (error) {
    // Uses only the position in the parser's message, because the rest may quote the body. It has no position for a wrong word.
    const told = / at position (\d+) \(/.exec(error instanceof Error ? error.message : '')?.[1]
    const index = told === undefined ? faultIndexOf(text) : Number(told)
    throw invalidBody(`${subject} is not JSON: it breaks${placeOf(text, index)}${hintAt(text, index)}.`)
  }
}
