/**
 * One event on its way to one receiver: `scheduled → delivered | exhausted | gone | blocked`. A redelivery attempts an ended delivery once
 * more, and that attempt decides its new status.
 */
import type { Instant } from '@platen/lib/brand.ts'
import type { TraceContext } from '@platen/lib/trace.ts'
import { TEST_EVENT, WEBHOOK_TYPES } from './event.ts'
import type { RenderId } from './render-id.ts'
import type { Environment, TemplateCode, TenantId } from './tenant.ts'

export const DELIVERY_STATUSES = ['scheduled', 'delivered', 'exhausted', 'gone', 'blocked'] as const
/**
 * `delivered`: the receiver answered 2xx. `exhausted`: the last scheduled attempt failed. `gone`: the receiver answered 410. `blocked`: the
 * target may not be called, or the tenant no longer exists.
 */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

export const DELIVERED_EVENTS = [...WEBHOOK_TYPES, TEST_EVENT] as const
type DeliveredEvent = (typeof DELIVERED_EVENTS)[number]

/** Self-contained: a receiver can be called when nothing else survives. */
export interface Delivery {
  /** The event's id, a UUIDv7, the same in every attempt. */
  readonly id: string
  readonly type: DeliveredEvent
  /** The render or batch that it is about. A test event has an id that no render has, under which it is kept and removed. */
  readonly render: RenderId
  readonly tenant: TenantId
  readonly account: string
  readonly environment: Environment
  /** As the caller wrote it. */
  readonly url: string
  /** The same bytes in every attempt. */
  readonly body: string
  /** Attempts after the first. 0 after a sync render. */
  readonly retriesMax: number
  readonly createdAt: Instant
  /** For the log. */
  readonly requestId: string
  /** The fields it is listed by. Absent in test events and batch ends, which are in no list. */
  readonly listed?: { readonly template: TemplateCode; readonly reference?: string; readonly expiresAt: Instant }
  /** The span that made the render. Absent = its request belongs to no trace. */
  readonly trace?: TraceContext
}

export const ATTEMPT_RESULTS = ['ok', 'status', 'timeout', 'dns', 'connection', 'tls', 'protocol', 'blocked'] as const
/**
 * `ok`: answered 2xx. `status`: answered otherwise, redirects included. `timeout`: no answer in time. `dns`, `connection`, `tls`: not
 * reachable. `protocol`: the answer is not HTTP. `blocked`: the target may not be called.
 */
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number]

export interface Attempt {
  readonly startedAt: Instant
  readonly durationMs: number
  readonly result: AttemptResult
  /** Absent without an answer. */
  readonly statusCode?: number
  /** For people; absent if nothing went wrong. */
  readonly message?: string
  /** The beginning of the answer's body, at most `WEBHOOK_EXCERPT_BYTES_MAX` bytes; absent if it is empty or not text. */
  readonly excerpt?: string
}

export interface DeliveryRecord {
  readonly delivery: Delivery
  readonly status: DeliveryStatus
  /** Of the next attempt; only while `scheduled`. */
  readonly dueAt?: Instant
  /** Why it waits longer than its schedule, or why it was blocked, for people. */
  readonly reason?: string
  /** The last `WEBHOOK_ATTEMPTS_KEPT_MAX`, oldest first. */
  readonly attempts: readonly Attempt[]
}
