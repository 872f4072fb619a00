import type { KafkaMessage } from 'kafkajs'
import { type KnownRecord, knownRecordOf, openSearch } from '../client/fingerprint.ts'
import type { Position, Watermark } from './watermark.ts'

const KIB = 1024

/** Bytes of one partition that a consumer buffers. The last fetch may exceed it. */
export const KAFKA_BUFFERED_BYTES_MAX = 64 * KIB

/** Records of one partition between the oldest unfinished and the newest fetched one: what a crash delivers again. */
export const KAFKA_UNCOMMITTED_RECORDS_MAX = 1000

export interface Lag {
  readonly topic: string
  readonly partition: number
  /** Records that are not done, as of the last fetch that returned any. */
  readonly records: number
}

export interface StoredRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer | undefined>>
  /** Differs from that of the record at the same offset of another log. */
  readonly fingerprint: string
}

export interface Partition {
  readonly topic: string
  readonly partition: number
  committed: number | undefined
  isPaused: boolean
  /** Was it opened again because its log is another one than before? */
  hasOtherLog: boolean
  /**
   * Everything before `start` is done. Returns the offset to fetch from: `start`, or the record before it if its fingerprint is known.
   * Nothing may be committed until the known records of the log were fetched again.
   */
  startAt(start: Position, committed: number | undefined): number
  /**
   * Returns the offset to fetch from after a pause, given the next offset: the last fetched record, to see whether the log still has it.
   * Nothing may be committed until then.
   */
  checkFrom(next: number): number
  /** Returns a known record that the fetched log lacks: it is another log, such as an older copy. */
  missing(messages: readonly KafkaMessage[], highWatermark: number): KnownRecord | undefined
  /** Buffers the fetched records, except known ones. Returns how many were added. */
  add(messages: readonly KafkaMessage[], highWatermark: number): number
  shift(): StoredRecord | undefined
  requeue(record: StoredRecord): void
  done(record: StoredRecord): void
  isFull(): boolean
  /** Undefined if nothing is new. */
  position(): Position | undefined
  /** Were the known records of the log fetched again since the start? */
  isKnown(): boolean
  /** Records that are not done, including those not fetched yet, as of the last fetch that returned any. */
  lag(): number
  /** Drops the buffered records, since the partition goes to another member. */
  revoke(): void
}

export function partitionName(topic: string, partition: number): string {
  return `${topic}/${partition}`
}

/** Opens a newly assigned partition. The watermark is that of earlier assignments. */
export function openPartition(topic: string, partition: number, watermark: Watermark): Partition {
  const waiting = openBuffer()
  let end = 0
  const search = openSearch()
  watermark.reset()
  return {
    topic,
    partition,
    committed: undefined,
    isPaused: false,
    hasOtherLog: false,
    startAt({ offset, fingerprint }, committed) {
      const last = watermark.last()
      watermark.pass(offset)
      this.committed = committed
      search.begin([
        ...(fingerprint === undefined ? [] : [{ offset: offset - 1, fingerprint }]),
        ...(last !== undefined && last.offset >= offset ? [last] : []),
      ])
      return fingerprint === undefined ? offset : offset - 1
    },
    checkFrom(next) {
      const last = watermark.last()
      if (last?.offset !== next - 1) return next
      search.begin([last])
      return last.offset
    },
    missing: (messages, highWatermark) => search.missing(messages, highWatermark),
    add(messages, highWatermark) {
      end = highWatermark
      search.goOn(messages)
      const fresh = messages.flatMap((message) => {
        const known = knownRecordOf(message)
        return watermark.begin(known) ? [storedAs({ topic, partition, ...known }, message)] : []
      })
      waiting.put(fresh)
      return fresh.length
    },
    shift: () => waiting.shift(),
    requeue: (record) => waiting.put([record]),
    done({ offset }) {
      watermark.done(offset)
      // It may have been requeued.
      waiting.remove(offset)
    },
    // Not full before the known records were fetched again, since nothing is committed until then.
    isFull: () =>
      search.isOver() &&
      (waiting.bytes() >= KAFKA_BUFFERED_BYTES_MAX || watermark.pendingCount() >= KAFKA_UNCOMMITTED_RECORDS_MAX),
    position() {
      const position = watermark.position()
      return position?.offset === this.committed ? undefined : position
    },
    isKnown: () => search.isOver(),
    lag: () => Math.max(end - (watermark.position()?.offset ?? end), 0),
    revoke() {
      for (const { offset } of waiting.clear()) watermark.release(offset)
      watermark.reset()
    },
  }
}

function openBuffer() {
  let records: StoredRecord[] = []
  let bytes = 0
  return {
    bytes: () => bytes,
    /** Records that are fetched again or requeued may come before those that are here. */
    put(added: readonly StoredRecord[]): void {
      records.push(...added)
      records.sort((a, b) => a.offset - b.offset)
      bytes += added.reduce((sum, record) => sum + bytesOf(record), 0)
    },
    shift(): StoredRecord | undefined {
      const record = records.shift()
      if (record !== undefined) bytes -= bytesOf(record)
      return record
    },
    remove(offset: number): void {
      const at = records.findIndex((record) => record.offset === offset)
      const [record] = at < 0 ? [] : records.splice(at, 1)
      if (record !== undefined) bytes -= bytesOf(record)
    },
    clear(): readonly StoredRecord[] {
      const cleared = records
      records = []
      bytes = 0
      return cleared
    },
  }
}

function storedAs(
  place: Pick<StoredRecord, 'topic' | 'partition' | 'offset' | 'fingerprint'>,
  message: KafkaMessage,
): StoredRecord {
  return {
    ...place,
    key: message.key,
    value: message.value,
    headers: Object.fromEntries(
      Object.entries(message.headers ?? {}).map(([name, value]) => [name, firstValue(value)] as const),
    ),
  }
}

/** Kafka allows several values; our headers have one. */
function firstValue(value: Buffer | string | (Buffer | string)[] | undefined): Buffer | undefined {
  const first = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' ? Buffer.from(first) : first
}

function bytesOf({ key, value }: StoredRecord): number {
  return (key?.byteLength ?? 0) + (value?.byteLength ?? 0)
}
