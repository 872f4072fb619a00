import type { RenderEvent } from '../event.ts'

/** What happened to renders, in the order it was recorded, kept for a month of quota, and longer. */
export interface EventLog {
  /** Resolves when the event is durable. An event appended again under its id is there at least once; readers drop repeats by id. */
  append(event: RenderEvent, signal: AbortSignal): Promise<void>
  /**
   * The events from where this reader last called `done`, then those to come, until the signal aborts (the iteration then
   * ends). Delivery is at least once: what was given out and not done is given again to the next `follow` of the same reader.
   * At least `EXPIRY_RENDERS_MAX` events are given out before any of them is done; a log may wait then.
   */
  follow(reader: string, signal: AbortSignal): AsyncIterable<ReceivedEvent>
}

export interface ReceivedEvent {
  readonly event: RenderEvent
  /** This reader is through with this event and all before it. Resolves when durable. */
  done(): Promise<void>
}

/** An event log that lets its reader begin again wherever it wants to. Embedded stores are durable as a whole, and have no use for it. */
export interface ReplayableLog {
  /**
   * The events of the partitions that this process shares with the others of the same reader, from where `begin` says, then those to
   * come, until the signal aborts (the iteration then ends). `begin` is asked when a partition is given to this process, and after
   * `again`. Within `REPLAY_IDLE_MS` every partition comes by, be it without an event, so that its reader may look after what it keeps.
   * What cannot be read is passed over: it is for those who `follow` to bury.
   */
  replay(reader: string, begin: ReplayStart, signal: AbortSignal): AsyncIterable<readonly EventBatch[]>
}

/**
 * Resolves to the offset of the event to begin with, from `first` on. Asked without an `end`, it may name one the log does not have;
 * then it is asked again, with the offset after the last event there is.
 */
export type ReplayStart = (
  partition: number,
  range: { readonly first: number; readonly end?: number },
) => Promise<number>

/** What follows each other in one partition. */
export interface EventBatch {
  readonly partition: number
  /** The offset at which it begins, and that of what comes after it. */
  readonly from: number
  readonly to: number
  /** Of those between, what can be read. */
  readonly events: readonly RenderEvent[]
  /** The reader is through with it. Not what it goes by when it begins again, but what the log's own tools show. */
  done(): void
  /** The partition begins again where `begin` then says; what was read of it ahead is forgotten. */
  rewind(): void
}
