import { fieldOf, parseJson } from '../json.ts'
import { fromWire } from '../spelling.ts'
import type { EventType, FailureCode, RenderWarning } from '../wire.ts'

export type WebhookBody = SucceededBody | FailedBody | BatchEndedBody | TestBody

interface EndedBody {
  /** The render id in its UUID spelling. */
  readonly id: string
  readonly renderId: string
  readonly template: string
  readonly reference?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** Absent if there are none. A render that failed has them only with the code `document_warnings`. */
  readonly warnings?: readonly RenderWarning[]
  /** How many more there were; absent if none. */
  readonly warningsOmitted?: number
}

export interface SucceededBody extends EndedBody {
  readonly status: 'succeeded'
  readonly durationMs: number
  readonly bytes: number
  /** SHA-256 of the PDF. */
  readonly artifactId: string
  readonly pages: number
}

export interface FailedBody extends EndedBody {
  readonly status: 'failed'
  readonly errorCode: FailureCode
  /** The same as `errorCode`. */
  readonly errorReason: FailureCode
  readonly errorMessage: string
}

/** Sent when each render of a batch has succeeded or failed. */
export interface BatchEndedBody {
  readonly batchId: string
  readonly template: string
  readonly reference?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly status: 'ended'
  readonly total: number
  readonly succeeded: number
  /** Renders that failed, or were deleted before they ended. */
  readonly failed: number
  readonly createdAt: string
  /** RFC 3339, UTC. */
  readonly endedAt: string
}

/** Sent by `testWebhook`. It is about no render. */
export interface TestBody {
  /** The same as `deliveryId` of the event. */
  readonly id: string
  readonly status: 'test'
  /** RFC 3339, UTC. */
  readonly createdAt: string
}

/** A delivery with a valid signature. `type` says which event it is. */
export type WebhookEvent =
  | RenderEventOf<'render.succeeded', SucceededBody>
  | RenderEventOf<'render.failed', FailedBody>
  | BatchEndedEvent
  | EventOf<'webhook.test', TestBody>

interface EventOf<Type extends string, Data extends WebhookBody> {
  readonly type: Type
  /** The same in every attempt. Ignore a delivery whose id was processed before. */
  readonly deliveryId: string
  /** When it was signed. */
  readonly timestamp: Date
  readonly data: Data
}

interface RenderEventOf<Type extends EventType, Data extends SucceededBody | FailedBody> extends EventOf<Type, Data> {
  /** In the spelling of the other calls; `data.id` is the same id as a UUID. */
  readonly renderId: string
}

interface BatchEndedEvent extends EventOf<'batch.ended', BatchEndedBody> {
  readonly batchId: string
}

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
export const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** `body` has a valid signature. Undefined if this version does not know the event. */
export function eventOf(
  about: Pick<WebhookEvent, 'deliveryId' | 'timestamp'>,
  body: Uint8Array,
): WebhookEvent | undefined {
  const data: unknown = fromWire(parseJson(new TextDecoder().decode(body)))
  if (isSucceeded(data)) return { ...about, type: 'render.succeeded', renderId: renderIdOf(data.id), data }
  if (isFailed(data)) return { ...about, type: 'render.failed', renderId: renderIdOf(data.id), data }
  if (isBatchEnded(data)) return { ...about, type: 'batch.ended', batchId: data.batchId, data }
  if (isTest(data)) return { ...about, type: 'webhook.test', data }
  return undefined
}

function isSucceeded(value: unknown): value is SucceededBody {
  const numbers = [fieldOf(value, 'durationMs'), fieldOf(value, 'bytes')]
  const areNumbers = numbers.every((number) => typeof number === 'number')
  return isOf(value, 'succeeded') && areNumbers && typeof fieldOf(value, 'artifactId') === 'string'
}

function isFailed(value: unknown): value is FailedBody {
  const texts = [fieldOf(value, 'errorCode'), fieldOf(value, 'errorMessage')]
  return isOf(value, 'failed') && texts.every((text) => typeof text === 'string')
}

function isBatchEnded(value: unknown): value is BatchEndedBody {
  const batchId = fieldOf(value, 'batchId')
  const isOfBatch = fieldOf(value, 'status') === 'ended' && typeof batchId === 'string' && ULID.test(batchId)
  const numbers = ['total', 'succeeded', 'failed'].map((name) => fieldOf(value, name))
  const texts = ['template', 'createdAt', 'endedAt'].map((name) => fieldOf(value, name))
  const areNumbers = numbers.every((number) => typeof number === 'number')
  return isOfBatch && areNumbers && texts.every((text) => typeof text === 'string')
}

function isTest(value: unknown): value is TestBody {
  return isOf(value, 'test') && typeof fieldOf(value, 'createdAt') === 'string'
}

function isOf(value: unknown, status: string): boolean {
  const id = fieldOf(value, 'id')
  return fieldOf(value, 'status') === status && typeof id === 'string' && UUID.test(id)
}

/** 26 digits of Crockford's base 32. */
export function renderIdOf(uuid: string): string {
  let number = BigInt(`0x${uuid.replaceAll('-', '')}`)
  let text = ''
  for (; text.length < 26; number >>= 5n) text = DIGITS.charAt(Number(number & 31n)) + text
  return text
}

export function uuidOf(renderId: string): string {
  const number = Array.from(renderId).reduce((sum, digit) => sum * 32n + BigInt(DIGITS.indexOf(digit)), 0n)
  const hex = number.toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
