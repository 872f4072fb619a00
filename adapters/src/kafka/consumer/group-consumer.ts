import type { Lag, StoredRecord } from '../partition/partition.ts'
import type { Position, Watermark } from '../partition/watermark.ts'

export interface ConsumerSettings {
  /** Full names, with the prefix. Every member of a group must consume the same topics. */
  readonly group: string
  readonly topics: readonly string[]
  /** Called when `poll` may return more than before. */
  onRecords(): void
  /** Watermarks by partition name, for a process that joins the group again while it still has records in hand. */
  readonly watermarks?: Map<string, Watermark>
  /** If true, the reader sets the start of each partition by `seek`. Nothing is fetched before, whatever is committed. */
  readonly isSeeking?: boolean
}

export interface ConsumedRecord extends StoredRecord {
  /** The record will not be delivered again. Kept in memory until the next commit. Works after the consumer was closed, too. */
  done(): void
  /** Puts the record back to the head of its partition, even if that now belongs to another member; that member then gets it. */
  requeue(): void
}

/** Closing it commits what is done, drops buffered records, and leaves the group, so that no member waits for its session to time out. */
export interface GroupConsumer extends AsyncDisposable {
  /** Returns the next buffered record of a topic: in order within a partition, the partitions in turn. Never waits. */
  poll(topic: string): ConsumedRecord | undefined
  /**
   * Resolves when everything that is done now is committed. Leaves out partitions that went to another member; that member reads the
   * uncommitted records again. Throws `Unavailable`.
   */
  commit(signal: AbortSignal): Promise<void>
  /**
   * With `isSeeking`: the partitions that wait for `seek`. `hasOtherLog`: the log has another record before the last position. `onRecords`
   * is called when more partitions may wait.
   */
  awaitingSeek(): readonly { readonly topic: string; readonly partition: number; readonly hasOtherLog: boolean }[]
  /** Restarts a partition at a position; without one it waits for `seek` again. Drops its buffered records. */
  seek(topic: string, partition: number, position: Position | undefined): void
  /** False after a silence so long that only a new process helps. A consumer that cannot reach a broker retries, and is alive. */
  isAlive(): boolean
  lag(): readonly Lag[]
}
