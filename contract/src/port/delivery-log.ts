import type { Instant } from '@platen/lib/brand.ts'
import type { Attempt, Delivery, DeliveryRecord, DeliveryStatus } from '../domain/delivery.ts'
import type { RenderId } from '../domain/render-id.ts'

/** The deliveries: when each is due, and the results of its attempts. They are kept as long as the render they belong to. */
export interface DeliveryLog {
  /**
   * Resolves when the deliveries are durable, each due at once. A delivery whose id is known stays as it is. A new one may go to the consumer
   * of this process before it is durable; then it is known by its id when its first attempt is recorded, or a moment later.
   */
  schedule(deliveries: readonly Delivery[], signal: AbortSignal): Promise<void>
  /**
   * Due deliveries until the signal aborts; the iteration then ends. The earliest comes first within one partition. One consumer per
   * process. If several processes share the log, each delivery goes to one of them. Deliveries that a process holds when it closes or dies,
   * or when partitions are reassigned, are delivered again.
   */
  consume(signal: AbortSignal): AsyncIterable<DueDelivery>
  /** Undefined if the id is not known, or no longer. */
  find(id: string, signal: AbortSignal): Promise<DeliveryRecord | undefined>
  /** The deliveries of one render, oldest first. */
  listByRender(render: RenderId, signal: AbortSignal): Promise<readonly DeliveryRecord[]>
  /**
   * Requests one more attempt, at once, beside the scheduled ones. False if the id is not known, or if `WEBHOOK_REDELIVERIES_MAX` requested
   * attempts are still to be made. Resolves when durable.
   */
  redeliver(id: string, signal: AbortSignal): Promise<boolean>
  /**
   * Forgets the deliveries of a render, including unfinished ones. One that a consumer holds is not delivered again. Forgetting nothing is
   * fine. Resolves when durable.
   */
  forget(render: RenderId, signal: AbortSignal): Promise<void>
}

/** A due delivery. Its consumer holds it until it is recorded or deferred. */
export interface DueDelivery {
  readonly delivery: Delivery
  /** Scheduled attempts made so far. */
  readonly attempts: number
  /** Whether this attempt was requested. It does not count as a scheduled one. */
  readonly isRedelivery: boolean
  readonly dueAt: Instant
  /** To be called before the receiver is. False = the log has taken it back: do nothing with it. Absent = it never does. */
  begin?(): boolean
  /** Records an attempt and the status that follows; without `next` the status stays. Resolves when durable. */
  record(attempt: Attempt, next?: NextStatus): Promise<void>
  /** Postpones it by `waitMs` without an attempt. Resolves when durable. */
  defer(waitMs: number, reason?: string): Promise<void>
}

/**
 * The status after an attempt. The next attempt is given in milliseconds from the call that records it: an absolute time would be wrong if
 * a clock was set meanwhile. `reason` is for people.
 */
export type NextStatus =
  | { readonly status: 'scheduled'; readonly waitMs: number }
  | { readonly status: Exclude<DeliveryStatus, 'scheduled'>; readonly reason?: string }
