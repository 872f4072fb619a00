/** One partition as its consumer holds it: the buffered records, and which records are done. */
import type { KafkaMessage } from 'kafkajs'
import { KAFKA_BUFFERED_BYTES_MAX, KAFKA_UNCOMMITTED_RECORDS_MAX } from '../limit.ts'
import type { Watermark } from './watermark.ts'

/** The records left in an assigned partition. */
export interface Lag {
  readonly topic: string
  readonly partition: number
  /** Records that are not done, as of the last fetch that returned any. */
  readonly records: number
}

/** A record and its position. */
export interface StoredRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer | undefined>>
}

export interface Partition {
  readonly topic: string
  readonly partition: number
  /** The offset committed last in this assignment. */
  committed: number | undefined
  /** Is fetching paused until there is room? */
  isPaused: boolean
  /** Buffers the fetched records, except known ones. Returns how many were added. */
  add(messages: readonly KafkaMessage[], highWatermark: number): number
  /** Takes the next record; it is in hand from now on. */
  shift(): StoredRecord | undefined
  /** Puts a taken record back to its position. */
  requeue(record: StoredRecord): void
  done(record: StoredRecord): void
  isFull(): boolean
  /** The offset to commit; undefined if nothing is new. */
  position(): number | undefined
  /** Records that are not done, including records not fetched yet, as of the last fetch that returned any. */
  lag(): number
  /** The partition goes to another member: drops the buffered records. */
  revoke(): void
}

/** The name of a partition within a process. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}/${partition}`
}

/** Opens a newly assigned partition. The watermark holds what is known of it from earlier assignments. */
export function openPartition(topic: string, partition: number, watermark: Watermark): Partition {
  let waiting: StoredRecord[] = []
  let waitingBytes = 0
  let end = 0
  watermark.reset()

  const isFull = () =>
    waitingBytes >= KAFKA_BUFFERED_BYTES_MAX || watermark.pendingCount() >= KAFKA_UNCOMMITTED_RECORDS_MAX

  return {
    topic,
    partition,
    committed: undefined,
    isPaused: false,
    add(messages, highWatermark) {
      end = highWatermark
      watermark.truncateTo(end)
      const fresh = messages
        .filter(({ offset }) => watermark.begin(Number(offset)))
        .map((message) => storedAs({ topic, partition }, message))
      waiting.push(...fresh)
      // Records fetched again after a rebalance may come before the buffered ones.
      waiting.sort((a, b) => a.offset - b.offset)
      waitingBytes += fresh.reduce((sum, record) => sum + bytesOf(record), 0)
      return fresh.length
    },
    shift() {
      const record = waiting.shift()
      if (record !== undefined) waitingBytes -= bytesOf(record)
      return record
    },
    requeue(record) {
      waiting.push(record)
      waiting.sort((a, b) => a.offset - b.offset)
      waitingBytes += bytesOf(record)
    },
    done({ offset }) {
      watermark.done(offset)
      // It may have been requeued before.
      const at = waiting.findIndex((record) => record.offset === offset)
      const [record] = at < 0 ? [] : waiting.splice(at, 1)
      if (record !== undefined) waitingBytes -= bytesOf(record)
    },
    isFull,
    position() {
      const position = watermark.position()
      return position === this.committed ? undefined : position
    },
    lag: () => Math.max(end - (watermark.position() ?? end), 0),
    revoke() {
      for (const { offset } of waiting) watermark.release(offset)
      waiting = []
      waitingBytes = 0
      watermark.reset()
    },
  }
}

function storedAs(position: { topic: string; partition: number }, message: KafkaMessage): StoredRecord {
  return {
    ...position,
    offset: Number(message.offset),
    key: message.key,
    value: message.value,
    headers: Object.fromEntries(
      Object.entries(message.headers ?? {}).map(([name, value]) => [name, firstValue(value)] as const),
    ),
  }
}

/** Returns the first value of a header. Kafka allows several; ours have one. */
function firstValue(value: Buffer | string | (Buffer | string)[] | undefined): Buffer | undefined {
  const first = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' ? Buffer.from(first) : first
}

function bytesOf({ key, value }: StoredRecord): number {
  return (key?.byteLength ?? 0) + (value?.byteLength ?? 0)
}
