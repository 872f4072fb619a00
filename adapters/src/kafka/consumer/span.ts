/** Reading the event log from where its reader says: what is at hand of each partition, in one piece with its offsets. */
import { type Bell, firstOf } from '@platen/contract/bell.ts'
import type { RenderEvent } from '@platen/contract/event.ts'
import { REPLAY_IDLE_MS } from '@platen/contract/kafka-limit.ts'
import type { EventSpan, ReplayBegin } from '@platen/contract/port/event-log.ts'
import { repeatWhileUnavailable } from '@platen/contract/repeat.ts'
import type { Codec } from '@platen/contract/schema/codec.ts'
import { type KafkaConnection, unavailable } from '../connect.ts'
import type { ConsumedRecord, GroupConsumer } from './consumer.ts'

interface Replay {
  readonly connection: KafkaConnection
  readonly topic: string
  readonly codec: Codec<RenderEvent>
  /** One that is seeking, and rings when something has arrived. */
  readonly consumer: GroupConsumer
  readonly arrival: Bell
  readonly begin: ReplayBegin
}

/** What is read, some partitions at a time, until the signal aborts; then it throws the signal's reason. */
export async function* spansOf(replay: Replay, signal: AbortSignal): AsyncGenerator<readonly EventSpan[]> {
  const { connection, consumer, arrival } = replay
  const { clock } = connection
  /** The offset after what was given out of each partition. */
  const heads = new Map<number, number>()
  let wholeAt = clock.monotonic() + REPLAY_IDLE_MS
  for (;;) {
    signal.throwIfAborted()
    if (consumer.unplaced().length > 0) {
      await repeatWhileUnavailable(() => place(replay, heads), { ...connection, signal })
    }
    const isWhole = clock.monotonic() >= wholeAt
    if (isWhole) wholeAt = clock.monotonic() + REPLAY_IDLE_MS
    const spans = atHand(replay, heads, isWhole)
    if (spans.length > 0) yield spans
    else await firstOf([(over) => arrival.rung(over), (over) => clock.sleep(REPLAY_IDLE_MS, over)], signal)
  }
}

/** Tells each partition that waits for it where to begin. Throws `Unavailable`, then some may wait yet. */
async function place({ connection, topic, consumer, begin }: Replay, heads: Map<number, number>): Promise<void> {
  const admin = await connection.admin()
  const rangesNow = async () => {
    const offsets = await admin.fetchTopicOffsets(topic).catch(unavailable)
    return new Map(offsets.map(({ partition, low, high }) => [partition, { first: Number(low), end: Number(high) }]))
  }
  const ranges = await rangesNow()
  const placed = consumer.unplaced().map(async ({ partition }) => {
    const before = ranges.get(partition)
    // Added after the topic was looked at.
    if (before === undefined) return
    const offset = await begin(partition, { first: before.first })
    // Others may have read on since the end was looked at.
    const now = offset > before.end ? (await rangesNow()).get(partition) : before
    const known = now !== undefined && offset > now.end ? await begin(partition, now) : offset
    consumer.seek(topic, partition, known)
    heads.set(partition, known)
  })
  await Promise.all(placed)
}

/** Takes what is at hand; with `isWhole` the partitions come by, too, of which nothing is. */
function atHand(replay: Replay, heads: Map<number, number>, isWhole: boolean): readonly EventSpan[] {
  const { consumer, topic } = replay
  const waiting = new Set(consumer.unplaced().map(({ partition }) => partition))
  const ours = consumer.lag().flatMap(({ partition }) => (waiting.has(partition) ? [] : [partition]))
  const records = new Map<number, ConsumedRecord[]>(isWhole ? ours.map((partition) => [partition, []]) : [])
  for (let record = consumer.poll(topic); record !== undefined; record = consumer.poll(topic)) {
    const before = records.get(record.partition)
    if (before === undefined) records.set(record.partition, [record])
    else before.push(record)
  }
  return [...records].flatMap(([partition, each]) => {
    const from = heads.get(partition)
    if (from === undefined) return []
    const to = (each.at(-1)?.offset ?? from - 1) + 1
    heads.set(partition, to)
    return [spanOf(replay, each, { partition, from, to })]
  })
}

function spanOf(
  { consumer, topic, codec }: Replay,
  records: readonly ConsumedRecord[],
  place: Pick<EventSpan, 'partition' | 'from' | 'to'>,
): EventSpan {
  const events = records.flatMap(({ headers, value }) => {
    const decoded = codec.decode(headers['v']?.toString(), value)
    return 'value' in decoded ? [decoded.value] : []
  })
  return {
    ...place,
    events,
    done: () => records.forEach((record) => record.done()),
    again: () => consumer.seek(topic, place.partition, undefined),
  }
}
