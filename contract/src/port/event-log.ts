import type { RenderEvent } from '../domain/event.ts'

/** What happened to renders, in the order it was recorded. Kept longer than a month of quota. */
export interface EventLog {
  /** Resolves when the event is durable. An event appended again under its id may be in the log twice; readers drop duplicates by id. */
  append(event: RenderEvent, signal: AbortSignal): Promise<void>
  /**
   * The events after this reader's last `done`, then new ones, until the signal aborts; the iteration then ends. Delivery is at least once:
   * unfinished events are delivered again to the next `follow` of the same reader. At least `EXPIRY_RENDERS_MAX` events are delivered
   * before any of them is done; after that, a log may wait.
   */
  follow(reader: string, signal: AbortSignal): AsyncIterable<ReceivedEvent>
}

export interface ReceivedEvent {
  readonly event: RenderEvent
  /** Marks this event and all before it as processed. Resolves when durable. */
  done(): Promise<void>
}

/** An event log whose reader can start again from any offset. Embedded stores are durable as a whole, and do not need it. */
export interface ReplayableLog {
  /**
   * The events of this process's share of the partitions, from where `begin` says, then new ones, until the signal aborts; the iteration
   * then ends. `begin` is asked when a partition is assigned to this process, and after `rewind`. Every partition comes up within
   * `REPLAY_IDLE_MS`, even without an event, so that its reader can check what it keeps. Unreadable events are skipped: those who `follow`
   * dead-letter them.
   */
  replay(reader: string, begin: ReplayStart, signal: AbortSignal): AsyncIterable<readonly EventBatch[]>
}

/**
 * Resolves to the position of the event to start with, from `first` on. Called without `end`, it may name one that the log does not have.
 * Then it is called again with `end`, the offset after the last event; or with `first` as `end`, if the log has another event before that
 * position than was read there: the log is an older copy, or a new one.
 */
export type ReplayStart = (partition: number, range: ReplayRange) => Promise<LogPosition>

export interface LogPosition {
  readonly offset: number
  /** Of the event before it. Absent = it is not known, so that another log is not noticed. */
  readonly fingerprint?: string | undefined
}

interface ReplayRange {
  readonly first: number
  readonly end?: number
  /** The offset after the last event that was written a moment ago. Others may have read further since. */
  readonly written: number
  /** How many partitions the log has. */
  readonly partitions: number
}

/** Consecutive events of one partition. */
export interface EventBatch {
  readonly partition: number
  /** The offset of its start, and the offset after its end. */
  readonly from: number
  readonly to: number
  /** Of the event before `to`. */
  readonly fingerprint?: string | undefined
  /** The readable events in between. */
  readonly events: readonly RenderEvent[]
  /** Marks the batch as processed. Only the log's own tools show this; a restart uses `begin`. */
  done(): void
  /** Reads the partition again from where `begin` says. Drops what was prefetched. */
  rewind(): void
}
