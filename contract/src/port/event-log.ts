import type { RenderEvent } from '../domain/event.ts'

/** Events of renders, in the order they were recorded. Kept longer than a month of quota. */
export interface EventLog {
  /** Resolves when the event is durable. An event that is appended again may be in the log twice; readers drop duplicates by id. */
  append(event: RenderEvent, signal: AbortSignal): Promise<void>
  /**
   * Events after this reader's last `done`, then new ones, until the signal aborts, which ends the iteration. Delivery is at least once:
   * unfinished events go again to the next `follow` of the same reader. At least `EXPIRY_RENDERS_MAX` events are delivered before any is
   * done; after that, a log may wait.
   */
  follow(reader: string, signal: AbortSignal): AsyncIterable<ReceivedEvent>
}

export interface ReceivedEvent {
  readonly event: RenderEvent
  /** Marks this event and all before it as processed. Resolves when durable. */
  done(): Promise<void>
}

/** A reader of this log can start again from any offset. Embedded stores are durable as a whole, and do not need it. */
export interface ReplayableLog {
  /**
   * Events of this process's share of the partitions, from where `begin` says, then new ones, until the signal aborts, which ends the
   * iteration. `begin` is asked when a partition is assigned to this process, and after `rewind`. Every partition comes up within
   * `REPLAY_IDLE_MS`, even without an event, so that its reader can check its own state. Unreadable events are skipped: `follow`
   * dead-letters them.
   */
  replay(reader: string, begin: ReplayStart, signal: AbortSignal): AsyncIterable<readonly EventBatch[]>
}

/**
 * Resolves to the position of the event to start with, from `first` on. Called without `end`, it may name one that the log does not have.
 * Then it is called again with `end`: the offset after the last event, or `first` if the event before that position is another one than was
 * read there, so that the log is an older copy or a new one.
 */
export type ReplayStart = (partition: number, range: ReplayRange) => Promise<LogPosition>

export interface LogPosition {
  readonly offset: number
  /** Of the event before `offset`. Absent = unknown, so that another log is not noticed. */
  readonly fingerprint?: string | undefined
}

interface ReplayRange {
  readonly first: number
  readonly end?: number
  /** The offset after the last event, as of a moment ago. Others may have read further since. */
  readonly written: number
  /** Partitions of the whole log. */
  readonly partitions: number
}

/** Consecutive events of one partition. */
export interface EventBatch {
  readonly partition: number
  /** The offset of its start, and that after its end. */
  readonly from: number
  readonly to: number
  /** Of the event before `to`. */
  readonly fingerprint?: string | undefined
  /** The readable events in between. */
  readonly events: readonly RenderEvent[]
  /** Marks the batch as processed. Only the log's own tools show this; a restart uses `begin`. */
  done(): void
  /** Reads the partition again from where `begin` says, and drops what was prefetched. */
  rewind(): void
}
