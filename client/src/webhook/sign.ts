import { systemClock } from '../clock.ts'
import { toWire } from '../spelling.ts'
import {
  type BatchEndedBody,
  type FailedBody,
  renderIdOf,
  type SucceededBody,
  type TestBody,
  ULID,
  UUID,
  uuidOf,
} from './event.ts'
import { keysOf } from './key.ts'

/** Absent fields are made up. */
export type TestEvent =
  | TestRenderEvent<'render.succeeded', SucceededBody>
  | TestRenderEvent<'render.failed', FailedBody>
  | TestBatchEvent
  | TestEventOf<'webhook.test', TestBody>

type Fixed = 'id' | 'renderId' | 'batchId' | 'status'

interface TestEventOf<Type extends string, Data> {
  readonly type: Type
  readonly deliveryId?: string
  /** When it is signed. Absent = now. */
  readonly timestamp?: Date
  readonly data?: Partial<Omit<Data, Fixed>>
}

interface TestRenderEvent<Type extends string, Data> extends TestEventOf<Type, Data> {
  readonly renderId?: string
}

interface TestBatchEvent extends TestEventOf<'batch.ended', BatchEndedBody> {
  readonly batchId?: string
}

export interface SignOptions {
  /** During a rotation the service signs with both: `[current, previous]`. */
  readonly secret: string | readonly string[]
  /** Absent = a render that succeeded. */
  readonly event?: TestEvent
  /** The word in the service's header names. Default: `service`. */
  readonly brand?: string
}

/** To be sent by POST. Header names are in lower case, as servers hand them on. */
export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Signs an event as the service does, so that a receiver can be tested without a service. Rejects with `TypeError` when no secret is given,
 * or when an id or the time is invalid.
 */
export async function signTestEvent({
  secret,
  event = { type: 'render.succeeded' },
  brand = 'service',
}: SignOptions): Promise<SignedDelivery> {
  const { deliveryId: id = crypto.randomUUID(), timestamp = new Date(systemClock.now()) } = event
  const seconds = Math.floor(timestamp.getTime() / 1000)
  if (!UUID.test(id)) throw new TypeError('deliveryId is not a UUID in lower case')
  if (!(seconds > 0)) throw new TypeError('timestamp is not a time after 1970')
  const body = JSON.stringify(toWire(bodyOf(event, id, timestamp)))
  const keys = await keysOf(secret, 'sign')
  const [standard, service] = await Promise.all([
    Promise.all(keys.map((key) => hmac(key, `${id}.${seconds}.${body}`))),
    // This header has room for one signature. The service signs with the secret that its receivers have known longest.
    hmac(keys.at(-1) ?? keys[0], `${seconds}.${body}`),
  ])
  const headers = {
    'content-type': 'application/json',
    [`x-${brand}-event`]: event.type,
    [`x-${brand}-delivery`]: id,
    [`x-${brand}-timestamp`]: `${seconds}`,
    [`x-${brand}-signature`]: `sha256=${Array.from(service, (byte) => byte.toString(16).padStart(2, '0')).join('')}`,
    'webhook-id': id,
    'webhook-timestamp': `${seconds}`,
    'webhook-signature': standard.map((bytes) => `v1,${btoa(String.fromCharCode(...bytes))}`).join(' '),
  }
  return { headers, body }
}

/** In the order of the service. */
function bodyOf(event: TestEvent, deliveryId: string, timestamp: Date): object {
  if (event.type === 'webhook.test') {
    return { id: deliveryId, status: 'test', createdAt: event.data?.createdAt ?? timestamp.toISOString() }
  }
  if (event.type === 'batch.ended') return batchBodyOf(event, timestamp)
  const { renderId = renderIdOf(crypto.randomUUID()) } = event
  if (!ULID.test(renderId)) throw new TypeError('renderId is not the id of a render')
  const { template = 'invoice', reference, metadata, ...data } = event.data ?? {}
  const warned = { warnings: data.warnings, warningsOmitted: data.warningsOmitted }
  const about = { id: uuidOf(renderId), renderId, template, reference, metadata }
  if (event.type === 'render.failed') {
    const { errorCode = 'template_error', errorReason = errorCode } = event.data ?? {}
    const { errorMessage = 'the template has a fault' } = event.data ?? {}
    return { ...about, status: 'failed', errorCode, errorReason, errorMessage, ...warned }
  }
  const { durationMs = 412, bytes = 48_213, artifactId = '9f86d081884c7d65'.repeat(4), pages = 2 } = event.data ?? {}
  return { ...about, status: 'succeeded', durationMs, bytes, artifactId, pages, ...warned }
}

function batchBodyOf(
  { batchId = renderIdOf(crypto.randomUUID()), data = {} }: TestBatchEvent,
  timestamp: Date,
): object {
  if (!ULID.test(batchId)) throw new TypeError('batchId is not the id of a batch')
  const { template = 'invoice', reference, metadata, succeeded = 3, failed = 0, total = succeeded + failed } = data
  const { endedAt = timestamp.toISOString(), createdAt = endedAt } = data
  const about = { batchId, template, reference, metadata, status: 'ended' }
  return { ...about, total, succeeded, failed, createdAt, endedAt }
}

async function hmac(key: Awaited<ReturnType<typeof keysOf>>[0], text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text)))
}
