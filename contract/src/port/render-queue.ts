import type { Lane, RenderRecord } from '../render.ts'
import type { Engine } from '../render-options.ts'

/**
 * Accepted renders on their way to a renderer, by engine and lane. A lane is one first-in-first-out line, or several beside each
 * other, where many processes share it: a render is in one of them from the start, and order is kept in each.
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
  poll(lane: Lane): QueuedRender | undefined
  /** Resolves when `poll` of any lane may give something it did not give before; rejects with the signal's reason when it aborts. A wake-up too many is fine, one too few is not. */
  waitForRecord(signal: AbortSignal): Promise<void>
}

export interface QueuedRender {
  readonly record: RenderRecord
  /**
   * Takes the record out of the queue for good. Call it when the manifest and the event are durable; twice is fine. Resolves when
   * this process gives it out to nobody any more. Where a line is kept as one position, the record may be delivered again after a
   * crash: until the next commit, and while one before it is not done.
   */
  done(signal: AbortSignal): Promise<void>
  /**
   * Takes the record out as `done` does, and keeps it, as it was put in and with the reason, where people can look at it: for a
   * render that brings its renderers down, or whose manifest is damaged. What is kept is durable first; done again after a crash,
   * it may be there twice.
   */
  deadLetter(reason: string, signal: AbortSignal): Promise<void>
}
