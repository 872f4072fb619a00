/**
 * How far the views are made of the event log, kept where the views are, so that it is lost where they are and comes back as old as
 * they do. And what was charged by then, which tells when less than all is lost. Every method may be called again, and throws
 * `Unavailable` when the store cannot be reached.
 */
export interface Checkpoints {
  /**
   * Where to go on in a partition: at the `first` event the log has where nothing is known, or what is known means nothing to the log.
   * From then on the checkpoint stands there, so that its loss shows.
   */
  begin(partition: number, range: EventRange, signal: AbortSignal): Promise<Checkpoint>
  /**
   * Moves a checkpoint on when what was read up to `to` is applied. Undefined when it is not as it was: it was lost, moved by another
   * process, or the store is not the one that it was (it was started again, or another took its place), and may have lost what was applied.
   */
  advance(checkpoint: Checkpoint, applied: Applied, signal: AbortSignal): Promise<Checkpoint | undefined>
  /** What accounts were charged in a month at the last `advance` that told of them: never more than they are charged now, unless that was lost. */
  charged(period: string, signal: AbortSignal): Promise<Charged>
  /** Forgets every checkpoint, so that all begins anew; does nothing where that has happened since `charged` was asked. */
  forget(charged: Charged, signal: AbortSignal): Promise<void>
}

/** The offsets of what the log has of a partition: the first, and the next to come; absent = later than any. */
export interface EventRange {
  readonly first: number
  readonly end?: number
}

export interface Checkpoint {
  readonly partition: number
  /** The offset of the first event that is not applied. */
  readonly offset: number
  /** Of which beginning it is, and of which store. */
  readonly fence: string
}

export interface Applied {
  readonly to: number
  /** The month of now, and what accounts with new charges in it are charged by now, each under a name. */
  readonly period: string
  readonly charged: ReadonlyMap<string, number>
}

export interface Charged {
  readonly period: string
  /** Changes when all begins anew. */
  readonly beginning: string
  /** Units, by the names that `advance` was given. */
  readonly units: ReadonlyMap<string, number>
}
