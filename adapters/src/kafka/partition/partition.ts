/** One partition as a consumer holds it: what was fetched and nobody has taken, and how far it is done. */
import { KAFKA_BUFFERED_BYTES_MAX, KAFKA_UNCOMMITTED_RECORDS_MAX } from '@platen/contract/kafka-limit.ts'
import type { KafkaMessage } from 'kafkajs'
import type { Watermark } from './watermark.ts'

/** What a partition of ours still has to do. */
export interface Lag {
  readonly topic: string
  readonly partition: number
  /** Records that are not done, as of the last fetch that brought any. */
  readonly records: number
}

/** A record as it stands in its partition. */
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
  /** The offset that was committed last since it is ours. */
  committed: number | undefined
  /** Is no more fetched of it until it has room? */
  isPaused: boolean
  /** Takes in what was fetched, but for what is here already. Returns how many records came to be at hand. */
  add(messages: readonly KafkaMessage[], highWatermark: number): number
  /** The next record, which is in somebody's hand from now on. */
  shift(): StoredRecord | undefined
  /** Puts a record that was taken back where it stood. */
  requeue(record: StoredRecord): void
  done(record: StoredRecord): void
  isFull(): boolean
  /** What to commit; undefined where there is nothing new. */
  position(): number | undefined
  /** Records that are not done, those not fetched yet included, as of the last fetch that brought any. */
  lag(): number
  /** It is given to another member: what nobody has taken is forgotten. */
  revoke(): void
}

/** What a partition is known by within a process. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}/${partition}`
}

/** A partition that is ours from now on. What is known of it from earlier stands in its watermark. */
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
      // What comes again after a rebalance may lie before what is at hand.
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
      // It may have been given back before.
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

/** A header may stand there several times; ours do not. */
function firstValue(value: Buffer | string | (Buffer | string)[] | undefined): Buffer | undefined {
  const first = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' ? Buffer.from(first) : first
}

function bytesOf({ key, value }: StoredRecord): number {
  return (key?.byteLength ?? 0) + (value?.byteLength ?? 0)
}
