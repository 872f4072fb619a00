import type { Lane, RenderRecord } from '../domain/render.ts'
import type { Engine } from '../domain/render-options.ts'

/**
 * Accepted renders on their way to a renderer, by engine and lane. A lane is first in, first out. If many processes share it, it is several
 * such partitions: a render stays in one of them, and each keeps its order.
 *
 * Delivery is at least once: a record is delivered again if its consumer died or closed before `done`. Within one process only one worker
 * has it at a time. A full lane delays no other.
 */
export interface RenderQueue {
  /**
   * Appends a record to its lane. Resolves when it is durable: it survives kill -9 and power loss. Only the `sync` lane may be kept in
   * memory, because its caller goes away with the process that answers it. Throws `Unavailable` when the record may or may not have been
   * appended.
   */
  enqueue(record: RenderRecord, signal: AbortSignal): Promise<void>
  consume(engine: Engine, signal: AbortSignal): Promise<RenderConsumer>
}

/** Closing it gives back delivered records that are not done. */
export interface RenderConsumer extends AsyncDisposable {
  /** The next record that this process has of a lane. Never waits; undefined may mean "not fetched yet". */
  poll(lane: Lane): QueuedRender | undefined
  /**
   * Resolves when `poll` may return something new for any lane; may resolve too often, but never misses a record. Rejects with the signal's
   * reason.
   */
  waitForRecord(signal: AbortSignal): Promise<void>
}

export interface QueuedRender {
  readonly record: RenderRecord
  /**
   * Removes the record from the queue for good. Call it when the manifest and the event are durable. Idempotent. Resolves when this process
   * can no longer deliver the record. In a partition with a single committed offset, a crash may deliver it again: until the next commit,
   * and as long as an earlier record is not done.
   */
  done(signal: AbortSignal): Promise<void>
  /**
   * Removes the record as `done` does, and keeps an unchanged copy with the reason, for people to inspect: of a render that crashes its
   * renderers, or whose manifest is damaged. The copy is durable first, so after a crash it may be there twice.
   */
  deadLetter(reason: string, signal: AbortSignal): Promise<void>
}
