/** The partitions that a member of a group has now, and the next offset of each. Knows nothing of Kafka's protocol. */
import type { ConsumerCommitOffsetsEvent } from 'kafkajs'
import { type Lag, openPartition, type Partition, partitionName, type StoredRecord } from '../partition/partition.ts'
import { openWatermark, type Position, type Watermark } from '../partition/watermark.ts'
import type { ConsumerSettings } from './group-consumer.ts'

interface TakenRecord {
  readonly record: StoredRecord
  readonly partition: Partition
}

interface Place {
  readonly topic: string
  readonly partition: number
}

export class Assignment {
  readonly #isSeeking: boolean
  readonly #watermarks: Map<string, Watermark>
  #partitions = new Map<string, Partition>()
  /** By partition; undefined = its start is not known yet. */
  readonly #offsets = new Map<string, number | undefined>()
  /** Partitions take turns: the next `take` begins at this index. */
  #nextPartition = 0

  constructor({ isSeeking = false, watermarks = new Map() }: Pick<ConsumerSettings, 'isSeeking' | 'watermarks'>) {
    this.#isSeeking = isSeeking
    this.#watermarks = watermarks
  }

  all(): readonly Partition[] {
    return [...this.#partitions.values()]
  }

  lag(): readonly Lag[] {
    return this.all().map((each) => ({ topic: each.topic, partition: each.partition, records: each.lag() }))
  }

  find(place: Place): Partition | undefined {
    return this.#partitions.get(nameOf(place))
  }

  has(partition: Partition): boolean {
    return this.find(partition) === partition
  }

  /** Takes over the result of a rebalance. The starts of all partitions are then unknown. */
  assign(assigned: readonly Place[]): void {
    const before = this.#partitions
    this.#offsets.clear()
    this.#partitions = new Map(
      assigned.map((place) => {
        const kept = this.#isSeeking ? undefined : before.get(nameOf(place))
        return [nameOf(place), kept ?? this.#open(place)]
      }),
    )
    for (const partition of before.values()) if (!this.has(partition)) partition.revoke()
  }

  take(topic: string): TakenRecord | undefined {
    const partitions = this.all()
    for (let i = 0; i < partitions.length; i++) {
      const index = (this.#nextPartition + i) % partitions.length
      const partition = partitions[index]
      const record = partition?.topic === topic ? partition.shift() : undefined
      if (partition === undefined || record === undefined) continue
      this.#nextPartition = index + 1
      return { record, partition }
    }
    return undefined
  }

  /** Returns the partitions whose start is not known. */
  waiting(): readonly Partition[] {
    return this.all().filter((partition) => this.nextOffset(partition) === undefined)
  }

  nextOffset(partition: Partition): number | undefined {
    return this.#offsets.get(nameOf(partition))
  }

  setNextOffset(partition: Partition, offset: number | undefined): void {
    this.#offsets.set(nameOf(partition), offset)
  }

  /** Returns the offsets that are not committed yet. Only safe ones may be committed: their log is known to be the one that was read. */
  uncommitted(): readonly (Position & { readonly partition: Partition; readonly isSafe: boolean })[] {
    return this.all().flatMap((partition) => {
      const position = partition.position()
      const isSafe = partition.isKnown() && this.nextOffset(partition) !== undefined
      return position === undefined ? [] : [{ ...position, partition, isSafe }]
    })
  }

  offsetsToCommit() {
    return this.uncommitted().flatMap(({ isSafe, partition: { topic, partition }, offset, fingerprint = null }) =>
      isSafe ? [{ topic, partition, offset: String(offset), metadata: fingerprint }] : [],
    )
  }

  /** Is the position still to be committed, and the partition still ours? */
  isLeft({ partition, offset }: Position & { readonly partition: Partition }): boolean {
    return this.has(partition) && (partition.committed ?? 0) < offset
  }

  committed(topics: ConsumerCommitOffsetsEvent['payload']['topics']): void {
    for (const { topic, partitions } of topics) {
      for (const { partition, offset } of partitions) {
        const assigned = this.find({ topic, partition })
        if (assigned !== undefined) assigned.committed = Number(offset)
      }
    }
  }

  /** Drops what was buffered. */
  reopen(partition: Partition): Partition {
    partition.revoke()
    const opened = this.#open(partition)
    this.#partitions.set(nameOf(partition), opened)
    return opened
  }

  /** For a partition that has another log than before: forgets everything about its records. */
  replace(partition: Partition): Partition {
    this.#watermarks.delete(nameOf(partition))
    return this.reopen(partition)
  }

  /** Also for a partition that another member has. */
  watermarkOf(place: Place): Watermark {
    if (this.#isSeeking) return openWatermark()
    const known = this.#watermarks.get(nameOf(place)) ?? openWatermark()
    this.#watermarks.set(nameOf(place), known)
    return known
  }

  /** Returns a function that says whether the record taken from this partition is still the one at its offset. */
  validity(partition: Partition): () => boolean {
    // After a seek all records are delivered again.
    if (this.#isSeeking) return () => this.has(partition)
    const known = this.watermarkOf(partition)
    return () => this.watermarkOf(partition) === known
  }

  #open(place: Place): Partition {
    return openPartition(place.topic, place.partition, this.watermarkOf(place))
  }
}

function nameOf({ topic, partition }: Place): string {
  return partitionName(topic, partition)
}
