/** Reads the event log from offsets that the reader chooses. Yields the buffered events of each partition as one batch with its offsets. */
import { setImmediate } from 'node:timers/promises'
import type { RenderEvent } from '@platen/contract/event.ts'
import { type Notifier } from '@platen/contract/notifier.ts'
import type { EventBatch, ReplayStart } from '@platen/contract/port/event-log.ts'
import { raceFirst } from '@platen/contract/race.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import type { Codec } from '@platen/contract/schema/codec.ts'
import { type KafkaConnection, throwUnavailable } from '../connect.ts'
import { REPLAY_IDLE_MS } from '../limit.ts'
import type { Position } from '../partition/watermark.ts'
import type { ConsumedRecord, GroupConsumer } from './group-consumer.ts'
import { isForAnotherReader, type SetAsideSender, setAsideRecord } from './set-aside.ts'

interface Replay extends SetAsideSender {
  readonly connection: KafkaConnection
  readonly reader: string
  readonly topic: string
  readonly codec: Codec<RenderEvent>
  /** A consumer with `isSeeking`; `arrival` is notified when records arrive. */
  readonly consumer: GroupConsumer
  readonly arrival: Notifier
  readonly begin: ReplayStart
}

/** Yields batches of some partitions at a time, until the signal aborts. Then throws the signal's reason. */
export async function* eventBatches(replay: Replay, signal: AbortSignal): AsyncGenerator<readonly EventBatch[]> {
  const { connection, consumer, arrival } = replay
  const { clock } = connection
  /** Of each partition, the position after the last batch. */
  const positions: Positions = new Map()
  let idleDueAt = clock.monotonic() + REPLAY_IDLE_MS
  for (;;) {
    signal.throwIfAborted()
    if (consumer.awaitingSeek().length > 0) {
      const retry = { ...connection, dependency: 'kafka', operation: 'seek', signal }
      await retryWhileUnavailable(() => seekPartitions(replay, positions), retry)
    }
    const includesIdle = clock.monotonic() >= idleDueAt
    if (includesIdle) idleDueAt = clock.monotonic() + REPLAY_IDLE_MS
    const buffered = takeBuffered(replay, positions, includesIdle)
    if (buffered.length > 0) yield await inTurns(buffered, (each) => eventBatchOf(replay, each, signal))
    else await raceFirst([(over) => arrival.wait(over), (over) => clock.sleep(REPLAY_IDLE_MS, over)], signal)
  }
}

/** Maps values one after the other, each in a turn of its own of the event loop, so that answers and other work need not wait for all. */
async function inTurns<From, To>(values: readonly From[], map: (value: From) => Promise<To>): Promise<readonly To[]> {
  const mapped: To[] = []
  for (const value of values) {
    await setImmediate()
    mapped.push(await map(value))
  }
  return mapped
}

type Positions = Map<number, Position>

/** Seeks each waiting partition to its start. Throws `Unavailable`; some partitions may then still wait. */
async function seekPartitions({ connection, topic, consumer, begin }: Replay, positions: Positions): Promise<void> {
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
    // Others may have read further since the end offset was read.
    const now = begun.offset > before.end ? (await rangesNow()).get(partition) : before
    const isBeyond = now !== undefined && begun.offset > now.end
    const { offset, fingerprint } = isBeyond ? await begin(partition, { ...log, ...now }) : begun
    // The first event has none before it to compare.
    const position = { offset, fingerprint: offset === first ? undefined : fingerprint }
    consumer.seek(topic, partition, position)
    positions.set(partition, position)
  })
  await Promise.all(placed)
}

/** Takes the buffered records. With `includesIdle`, also returns empty batches for partitions without records. */
function takeBuffered(replay: Replay, positions: Positions, includesIdle: boolean): readonly BufferedRecords[] {
  const { consumer, topic } = replay
  const waiting = new Set(consumer.awaitingSeek().map(({ partition }) => partition))
  const ours = consumer.lag().flatMap(({ partition }) => (waiting.has(partition) ? [] : [partition]))
  const records = new Map<number, ConsumedRecord[]>(includesIdle ? ours.map((partition) => [partition, []]) : [])
  for (let record = consumer.poll(topic); record !== undefined; record = consumer.poll(topic)) {
    const before = records.get(record.partition)
    if (before === undefined) records.set(record.partition, [record])
    else before.push(record)
  }
  return [...records].flatMap(([partition, each]) => {
    const from = positions.get(partition)
    if (from === undefined) return []
    const last = each.at(-1)
    const to = last === undefined ? from : { offset: last.offset + 1, fingerprint: last.fingerprint }
    positions.set(partition, to)
    const { offset, fingerprint } = to
    return [{ records: each, range: { partition, from: from.offset, to: offset, fingerprint } }]
  })
}

interface BufferedRecords {
  readonly records: readonly ConsumedRecord[]
  readonly range: Pick<EventBatch, 'partition' | 'from' | 'to' | 'fingerprint'>
}

/** Decodes the events. Those of a newer format are set aside, so that nothing computed from the log stays without them. */
async function eventBatchOf(
  replay: Replay,
  { records, range }: BufferedRecords,
  signal: AbortSignal,
): Promise<EventBatch> {
  const { connection, consumer, topic, codec, reader } = replay
  const events: RenderEvent[] = []
  for (const record of records.filter((each) => !isForAnotherReader(each, reader))) {
    const decoded = codec.decode(record.headers['v']?.toString(), record.value)
    if ('value' in decoded) events.push(decoded.value)
    if (!('newer' in decoded)) continue
    const aside = { record, format: decoded.newer, reader }
    const setAside = () => setAsideRecord(replay, aside, signal)
    await retryWhileUnavailable(setAside, { ...connection, dependency: 'kafka', operation: 'setAside', signal })
  }
  return {
    ...range,
    events,
    done: () => records.forEach((record) => record.done()),
    rewind: () => consumer.seek(topic, range.partition, undefined),
  }
}
