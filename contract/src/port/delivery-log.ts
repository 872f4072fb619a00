import type { Instant } from '@platen/lib/brand.ts'
import type { Attempt, Delivery, DeliveryRecord, DeliveryStatus } from '../domain/delivery.ts'
import type { RenderId } from '../domain/render-id.ts'

/** When each delivery is due, and the results of its attempts. Kept as long as the render. */
export interface DeliveryLog {
  /**
   * Resolves when the deliveries are durable, each due at once. A delivery with a known id stays as it is. A new one may reach the consumer
   * of this process before it is durable: then `find` knows it when its first attempt is recorded, or a moment later.
   */
  schedule(deliveries: readonly Delivery[], signal: AbortSignal): Promise<void>
  /**
   * Due deliveries, the earliest of a partition first, until the signal aborts, which ends the iteration. One consumer per process. If
   * several processes share the log, each delivery goes to one of them. Deliveries that a process holds when it closes or dies, or when
   * partitions are reassigned, are delivered again.
   */
  consume(signal: AbortSignal): AsyncIterable<DueDelivery>
  /** Undefined if the id is not known, or no longer. */
  find(id: string, signal: AbortSignal): Promise<DeliveryRecord | undefined>
  /** Oldest first. */
  listByRender(render: RenderId, signal: AbortSignal): Promise<readonly DeliveryRecord[]>
  /**
   * Requests one more attempt, at once, beside the scheduled ones. False if the id is not known, or if `WEBHOOK_REDELIVERIES_MAX` requested
   * attempts are pending. Resolves when durable.
   */
  redeliver(id: string, signal: AbortSignal): Promise<boolean>
  /**
   * Forgets the deliveries of a render, including unfinished ones; there may be none. A delivery that a consumer holds is not delivered
   * again. Resolves when durable.
   */
  forget(render: RenderId, signal: AbortSignal): Promise<void>
}

/** Its consumer holds it until it is recorded or deferred. */
export interface DueDelivery {
  readonly delivery: Delivery
  /** Scheduled attempts so far. */
  readonly attempts: number
  /** Whether this attempt was requested. Such an attempt does not count as scheduled. */
  readonly isRedelivery: boolean
  readonly dueAt: Instant
  /**
   * Call it before calling the receiver. False = the log has taken the delivery back: do nothing with it. Absent = it is never taken back.
   */
  begin?(): boolean
  /** Records an attempt and the next status; without `next` the status stays. Resolves when durable. */
  record(attempt: Attempt, next?: NextStatus): Promise<void>
  /** Postpones the delivery without an attempt. Resolves when durable. */
  defer(waitMs: number, reason?: string): Promise<void>
}

/**
 * `waitMs` counts from the call that records the attempt: an absolute time would be wrong if a clock was set meanwhile. `reason` is for
 * people.
 */
export type NextStatus =
  | { readonly status: 'scheduled'; readonly waitMs: number }
  | { readonly status: Exclude<DeliveryStatus, 'scheduled'>; readonly reason?: string }
