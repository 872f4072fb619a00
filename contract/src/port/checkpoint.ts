/**
 * How far the event log is applied to the views. Checkpoints are in the same store as the views: they are lost with them, and come back as
 * old as them. The store also keeps the charges at that time, which reveals a partial loss. Every method may be called again, and throws
 * `Unavailable` when the store cannot be reached.
 */
export interface Checkpoints {
  /**
   * Where to continue in a partition: the `first` event of the log if no checkpoint is known or it does not fit the log. From now on the
   * checkpoint exists, so that its loss shows.
   */
  begin(partition: number, range: EventRange, signal: AbortSignal): Promise<Checkpoint>
  /**
   * Moves a checkpoint forward after everything up to `to` was applied. Undefined if the checkpoint has changed, so that applied events may
   * be lost: it was lost, another process moved it, or the store was restarted or replaced.
   */
  advance(checkpoint: Checkpoint, applied: Applied, signal: AbortSignal): Promise<Checkpoint | undefined>
  /**
   * Whether the views include everything that the log had when each partition was last begun. False while they are built, rebuilt after a
   * loss, or compared with the log because the store was replaced.
   */
  isComplete(signal: AbortSignal): Promise<boolean>
  /** Charges of a month as of the last `advance` that reported them. Never more than now, unless charges were lost. */
  charged(period: string, signal: AbortSignal): Promise<Charged>
  /** Deletes every checkpoint, so that everything starts over. Does nothing if that has happened since `charged` was read. */
  forget(charged: Charged, signal: AbortSignal): Promise<void>
}

/** Offsets of a partition in the log: the first, and the next to come. Absent `end` = later than any. */
export interface EventRange {
  readonly first: number
  readonly end?: number
  /** Partitions of the whole log. */
  readonly partitions?: number
}

export interface Checkpoint {
  readonly partition: number
  /** Of the first event that is not applied. */
  readonly offset: number
  /** Identifies the event before `offset`, to notice another log. Absent = unknown. */
  readonly fingerprint?: string | undefined
  /** Identifies the start of the projection and the store. */
  readonly fence: string
}

interface Applied {
  readonly to: number
  /** Of the event before `to`. */
  readonly fingerprint?: string | undefined
  /** Whether this covers all that the log had when the partition was begun. */
  readonly isCaughtUp?: boolean
  /** The current month, and named charge totals of accounts with new charges in it. */
  readonly period: string
  readonly charged: ReadonlyMap<string, number>
}

export interface Charged {
  readonly period: string
  /** Changes when the projection starts over. */
  readonly beginning: string
  /** By the names that `advance` got. */
  readonly units: ReadonlyMap<string, number>
}
