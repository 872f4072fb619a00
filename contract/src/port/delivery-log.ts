import type { Instant } from '../brand.ts'
import type { Attempt, Delivery, DeliveryRecord, DeliveryStatus } from '../delivery.ts'
import type { RenderId } from '../render-id.ts'

/** Which deliveries there are, when each is due, and what became of its attempts. Kept as long as the render they tell of. */
export interface DeliveryLog {
  /** Resolves when the deliveries are durable, each due at once. One that is known by its id is left as it is. */
  schedule(deliveries: readonly Delivery[], signal: AbortSignal): Promise<void>
  /**
   * Deliveries as they fall due, the earliest first as far as one line goes, until the signal aborts (the iteration then ends). One
   * consumer a process. Where several processes share the log each delivery goes to one of them; what one has in hand when it leaves
   * or dies, and when the work is shared out anew, is given out again.
   */
  consume(signal: AbortSignal): AsyncIterable<DueDelivery>
  /** Undefined for an id that is not known, or no longer. */
  find(id: string, signal: AbortSignal): Promise<DeliveryRecord | undefined>
  /** The deliveries of one render, the oldest first. */
  listByRender(render: RenderId, signal: AbortSignal): Promise<readonly DeliveryRecord[]>
  /**
   * Asks for one more attempt, at once, beside those that are scheduled. False when `WEBHOOK_REDELIVERIES_MAX` are already asked for
   * and not yet made, or the id is not known. Resolves when durable.
   */
  redeliver(id: string, signal: AbortSignal): Promise<boolean>
  /**
   * Forgets the deliveries of a render, those too that are not delivered; one that is in hand is not given out again. Forgetting
   * nothing is fine. Resolves when durable.
   */
  forget(render: RenderId, signal: AbortSignal): Promise<void>
}

/** A delivery that is due, held by its consumer until it is recorded or deferred. */
export interface DueDelivery {
  readonly delivery: Delivery
  /** Scheduled attempts made so far. */
  readonly attempts: number
  /** Was this attempt asked for? It takes none of the schedule's. */
  readonly isRedelivery: boolean
  readonly dueAt: Instant
  /** Records an attempt, and what follows from it; without `next` the delivery stays as it was. Resolves when durable. */
  record(attempt: Attempt, next?: NextStatus): Promise<void>
  /** Puts it off by so many milliseconds, without an attempt. Resolves when durable. */
  defer(waitMs: number, reason?: string): Promise<void>
}

/**
 * What follows from an attempt: for one that is to be made again, milliseconds from the call that records it, as a moment would be
 * another one for a clock that was set meanwhile. `reason` is for people.
 */
export type NextStatus =
  | { readonly status: 'scheduled'; readonly waitMs: number }
  | { readonly status: Exclude<DeliveryStatus, 'scheduled'>; readonly reason?: string }
