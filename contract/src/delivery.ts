/**
 * One event on its way to one receiver. `scheduled → delivered | exhausted | gone | blocked`; asked for again, an ended delivery is
 * attempted once more and ends as that attempt did.
 */
import type { Instant } from './brand.ts'
import type { EventType } from './event.ts'
import type { RenderId } from './render-id.ts'
import type { Environment, TenantId } from './tenant.ts'

export const DELIVERY_STATUSES = ['scheduled', 'delivered', 'exhausted', 'gone', 'blocked'] as const
/**
 * `delivered`: the receiver answered 2xx. `exhausted`: the last attempt there is has failed. `gone`: the receiver answered 410.
 * `blocked`: the target is one that is not called, or the tenant is no more.
 */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** What is to be sent, and all that sending it needs to know: nothing else must survive for it to be sent. */
export interface Delivery {
  /** The event's id, a UUIDv7: the same in every attempt. */
  readonly id: string
  readonly type: EventType
  readonly render: RenderId
  readonly tenant: TenantId
  /** The tenant's incarnation. */
  readonly account: string
  readonly environment: Environment
  /** As the caller spelled it. */
  readonly url: string
  /** The bytes of every attempt. */
  readonly body: string
  /** How many attempts may follow the first. 0 after a sync render. */
  readonly retriesMax: number
  readonly createdAt: Instant
}

export const ATTEMPT_RESULTS = ['ok', 'status', 'timeout', 'dns', 'connection', 'tls', 'protocol', 'blocked'] as const
/**
 * `ok`: answered 2xx. `status`: answered otherwise, redirects included. `timeout`: no answer in time. `dns`, `connection`, `tls`:
 * it could not be reached. `protocol`: what it said is no HTTP. `blocked`: it is not called at all.
 */
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number]

/** One call of the receiver. */
export interface Attempt {
  readonly startedAt: Instant
  readonly durationMs: number
  readonly result: AttemptResult
  /** HTTP status, where there was an answer. */
  readonly statusCode?: number
  /** What went wrong, for people; absent when nothing did. */
  readonly message?: string
  /** The beginning of the answer's body as text, at most `WEBHOOK_EXCERPT_BYTES_MAX` bytes; absent where it has none or it is no text. */
  readonly excerpt?: string
}

/** A delivery as far as it has come. */
export interface DeliveryRecord {
  readonly delivery: Delivery
  readonly status: DeliveryStatus
  /** When the next attempt is due; while `scheduled`. */
  readonly dueAt?: Instant
  /** Why it waits beyond its schedule, or why it was blocked, for people. */
  readonly reason?: string
  /** The oldest first; the last `WEBHOOK_ATTEMPTS_KEPT_MAX`. */
  readonly attempts: readonly Attempt[]
}
