/**
 * How far the event log is applied to the views. Checkpoints are kept in the same store as the views, so they are lost together with them,
 * and come back as old as they do. The store also keeps what was charged by then, which reveals a partial loss. Every method may be called
 * again, and throws `Unavailable` when the store cannot be reached.
 */
export interface Checkpoints {
  /**
   * Where to continue in a partition. If no checkpoint is known, or it does not fit the log, this is the `first` event of the log. The
   * checkpoint then exists from now on, so that its loss shows.
   */
  begin(partition: number, range: EventRange, signal: AbortSignal): Promise<Checkpoint>
  /**
   * Moves a checkpoint forward after everything up to `to` was applied. Undefined if the checkpoint is not as it was, so that applied
   * events may be lost. Reasons: it was lost, another process moved it, or the store is another one (restarted or replaced).
   */
  advance(checkpoint: Checkpoint, applied: Applied, signal: AbortSignal): Promise<Checkpoint | undefined>
  /**
   * Tells whether the views include everything that the log had when each partition was last begun. Not so while they are made, made again
   * after a loss, or compared with the log again because the store is another one.
   */
  isComplete(signal: AbortSignal): Promise<boolean>
  /** What accounts were charged in a month, as of the last `advance` that reported it. Never more than now, unless charges were lost. */
  charged(period: string, signal: AbortSignal): Promise<Charged>
  /** Deletes every checkpoint, so that everything starts over. Does nothing if that has happened since `charged` was read. */
  forget(charged: Charged, signal: AbortSignal): Promise<void>
}

/** The offsets that the log has of a partition: the first, and the next to come; absent = later than any. */
export interface EventRange {
  readonly first: number
  readonly end?: number
  /** How many partitions the log has. */
  readonly partitions?: number
}

export interface Checkpoint {
  readonly partition: number
  /** The offset of the first event that is not applied. */
  readonly offset: number
  /** Tells the event before it from the one that another log has there; absent if it is not known. */
  readonly fingerprint?: string | undefined
  /** Identifies the start of the projection and the store. */
  readonly fence: string
}

interface Applied {
  readonly to: number
  /** Of the event before `to`. */
  readonly fingerprint?: string | undefined
  /** Whether this includes everything that the log had when the partition was begun. */
  readonly isCaughtUp?: boolean
  /** The current month, and the charge totals of accounts with new charges in it, each under a name. */
  readonly period: string
  readonly charged: ReadonlyMap<string, number>
}

export interface Charged {
  readonly period: string
  /** Changes when the projection starts over. */
  readonly beginning: string
  /** Units, by the names that `advance` got. */
  readonly units: ReadonlyMap<string, number>
}
