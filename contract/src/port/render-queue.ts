import type { Engine, Lane, RenderRecord } from '../render.ts'

/**
 * Accepted renders on their way to a renderer: one first-in-first-out line per engine and lane.
 *
 * Delivery is at least once. A record is delivered again after its consumer died or closed before `done`; within one process
 * it is in one hand at a time. Lanes are independent: a full one delays no other.
 */
export interface RenderQueue {
  /**
   * Appends a record to the line of its engine and lane. Resolves when it is durable: it survives kill -9 and power loss.
   * The `sync` lane alone may be kept in memory, as its caller dies with the process that answers it.
   * Throws `Unavailable` when the record may or may not have been appended.
   */
  enqueue(record: RenderRecord, signal: AbortSignal): Promise<void>
  /** Joins the consumers of one engine. */
  consume(engine: Engine, signal: AbortSignal): Promise<RenderConsumer>
}

/** Closing it gives back what was delivered and not done. */
export interface RenderConsumer extends AsyncDisposable {
  /** The next record of a lane that is at hand in this process. Never waits; undefined may only mean "not fetched yet". */
  poll(lane: Lane): RenderDelivery | undefined
  /** Resolves when `poll` of any lane may give something it did not give before; rejects with the signal's reason when it aborts. A wake-up too many is fine, one too few is not. */
  arrival(signal: AbortSignal): Promise<void>
}

export interface RenderDelivery {
  readonly record: RenderRecord
  /** Takes the record out of the queue for good. Call it when the manifest and the event are durable. Resolves when durable; twice is fine. */
  done(signal: AbortSignal): Promise<void>
}
