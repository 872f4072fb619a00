/** Reads the event log from offsets that the reader chooses. Yields the buffered events of each partition as one batch. */
import { setImmediate } from 'node:timers/promises'
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import type { EventBatch, ReplayStart } from '@platen/contract/port/event-log.ts'
import type { Codec } from '@platen/contract/stored/codec.ts'
import type { Notifier } from '@platen/lib/notifier.ts'
import { raceFirst } from '@platen/lib/race.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import { type KafkaConnection, throwUnavailable } from '../connect.ts'
import type { Position } from '../partition/watermark.ts'
import type { ConsumedRecord, GroupConsumer } from './group-consumer.ts'
import { leaveRecord } from './leave-record.ts'

const SECOND_MS = 1000
/** A partition without new events is passed to its reader this often. The reader then checks that its earlier results still exist. */
const REPLAY_IDLE_MS = SECOND_MS

interface Replay {
  readonly connection: KafkaConnection
  readonly topic: string
  readonly codec: Codec<RenderEvent>
  /** A consumer with `isSeeking`; `arrival` is notified when records arrive. */
  readonly consumer: GroupConsumer
  readonly arrival: Notifier
  readonly begin: ReplayStart
}

/** Yields batches of one or more partitions, until the signal aborts. Then throws the signal's reason. */
export async function* eventBatches(replay: Replay, signal: AbortSignal): AsyncGenerator<readonly EventBatch[]> {
  const { connection, consumer, arrival } = replay
  const { clock } = connection
  const progress: Progress = { positions: new Map(), waiting: new Set() }
  let idleDueAt = clock.monotonic() + REPLAY_IDLE_MS
  for (;;) {
    signal.throwIfAborted()
    if (consumer.awaitingSeek().length > 0) {
      const retry = { ...connection, dependency: 'kafka', operation: 'seek', signal }
      await retryWhileUnavailable(() => seekPartitions(replay, progress), retry)
    }
    const includesIdle = clock.monotonic() >= idleDueAt
    if (includesIdle) idleDueAt = clock.monotonic() + REPLAY_IDLE_MS
    const buffered = takeBuffered(replay, progress, includesIdle)
    if (buffered.length > 0) yield await inTurns(buffered, (each) => eventBatchOf(replay, progress, each))
    else await raceFirst([(over) => arrival.wait(over), (over) => clock.sleep(REPLAY_IDLE_MS, over)], signal)
  }
}

/** Maps each value in its own turn of the event loop, so that other work is not delayed by all of them. */
async function inTurns<From, To>(values: readonly From[], map: (value: From) => To): Promise<readonly To[]> {
  const mapped: To[] = []
  for (const value of values) {
    await setImmediate()
    mapped.push(map(value))
  }
  return mapped
}

interface Progress {
  /** By partition: the position after the last batch. */
  readonly positions: Map<number, Position>
  /** Partitions whose next record has a newer format. They wait until somebody reads them from another position. */
  readonly waiting: Set<number>
}

/** Seeks each waiting partition to its start. Throws `Unavailable`; some partitions may then still wait. */
async function seekPartitions(
  { connection, topic, consumer, begin }: Replay,
  { positions, waiting }: Progress,
): Promise<void> {
  const admin = await connection.admin()
  const rangesNow = async () => {
    const offsets = await admin.fetchTopicOffsets(topic).catch(throwUnavailable)
    return new Map(offsets.map(({ partition, low, high }) => [partition, { first: Number(low), end: Number(high) }]))
  }
  const ranges = await rangesNow()
  const placed = consumer.awaitingSeek().map(async ({ partition, hasOtherLog }) => {
    const before = ranges.get(partition)
    // The partition was added after the offsets were read.
    if (before === undefined) return
    const { first } = before
    const log = { first, written: before.end, partitions: ranges.size }
    const begun = await begin(partition, { ...log, ...(hasOtherLog && { end: first }) })
    // Others may have read further since the end offset was fetched.
    const now = begun.offset > before.end ? (await rangesNow()).get(partition) : before
    const isBeyond = now !== undefined && begun.offset > now.end
    const { offset, fingerprint } = isBeyond ? await begin(partition, { ...log, ...now }) : begun
    // There is no event before the first one to compare with.
    const position = { offset, fingerprint: offset === first ? undefined : fingerprint }
    consumer.seek(topic, partition, position)
    positions.set(partition, position)
    waiting.delete(partition)
  })
  await Promise.all(placed)
}

interface BufferedRecords {
  readonly partition: number
  readonly from: Position
  readonly records: readonly ConsumedRecord[]
}

/** With `includesIdle`, also returns partitions without records. */
function takeBuffered(
  { consumer, topic }: Replay,
  { positions, waiting }: Progress,
  includesIdle: boolean,
): readonly BufferedRecords[] {
  const unplaced = new Set(consumer.awaitingSeek().map(({ partition }) => partition))
  const ours = consumer.lag().flatMap(({ partition }) => (unplaced.has(partition) ? [] : [partition]))
  const taken = new Map<number, ConsumedRecord[]>(includesIdle ? ours.map((partition) => [partition, []]) : [])
  for (let record = consumer.poll(topic); record !== undefined; record = consumer.poll(topic)) {
    if (waiting.has(record.partition)) continue
    const before = taken.get(record.partition)
    if (before === undefined) taken.set(record.partition, [record])
    else before.push(record)
  }
  return [...taken].flatMap(([partition, records]) => {
    const from = positions.get(partition)
    return from === undefined ? [] : [{ partition, from, records }]
  })
}

/** Stops at the first event of a newer format: nothing that is computed from the log may go on without it. */
function eventBatchOf(
  { connection, consumer, topic, codec }: Replay,
  { positions, waiting }: Progress,
  { partition, from, records }: BufferedRecords,
): EventBatch {
  const events: RenderEvent[] = []
  const read: ConsumedRecord[] = []
  for (const record of records) {
    const decoded = codec.decode(record.headers['v']?.toString(), record.value)
    if ('newer' in decoded) {
      leaveRecord(record, decoded.newer, connection.log)
      waiting.add(partition)
      break
    }
    if ('value' in decoded) events.push(decoded.value)
    read.push(record)
  }
  const last = read.at(-1)
  const to = last === undefined ? from : { offset: last.offset + 1, fingerprint: last.fingerprint }
  positions.set(partition, to)
  return {
    partition,
    from: from.offset,
    to: to.offset,
    fingerprint: to.fingerprint,
    events,
    done: () => read.forEach((record) => record.done()),
    rewind: () => consumer.seek(topic, partition, undefined),
  }
}
