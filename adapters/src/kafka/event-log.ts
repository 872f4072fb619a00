/**
 * The event log on Kafka: one topic, and one consumer group per reader name. The key of an event is its render id, so all events of a
 * render are in one partition. Order is kept within a partition.
 */
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import { FORMAT } from '@platen/contract/domain/format.ts'
import type {
  EventBatch,
  EventLog,
  ReceivedEvent,
  ReplayableLog,
  ReplayStart,
} from '@platen/contract/port/event-log.ts'
import type { Codec } from '@platen/contract/stored/codec.ts'
import { renderEventCodec } from '@platen/contract/stored/render-event.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import { type KafkaConnection, throwUnavailable } from './connect.ts'
import { openConsumer } from './consumer/consumer.ts'
import { eventBatches } from './consumer/event-batch.ts'
import type { ConsumedRecord, ConsumerSettings, GroupConsumer } from './consumer/group-consumer.ts'
import { leaveRecord } from './consumer/leave-record.ts'
import { deadLetterRecord } from './dead-letter.ts'
import { commitInGroup } from './group.ts'
import { KAFKA_JOIN_MS_MAX } from './limit.ts'
import type { Lag } from './partition/partition.ts'
import { DEAD_TOPIC, EVENT_TOPIC, readerGroup } from './topic.ts'

interface EventLogSettings {
  /** See `TopicSettings`. */
  readonly prefix: string
  /** Called for each dead letter, for a counter. */
  readonly deadLettered?: (() => void) | undefined
}

export interface KafkaEventLog extends EventLog, ReplayableLog {
  /** As in `GroupConsumer`, for all readers. */
  isAlive(): boolean
  /** The records left in the partitions of this process; of one reader, or of all. */
  lag(reader?: string): readonly Lag[]
}

/** The topic must exist. */
export function kafkaEventLog(connection: KafkaConnection, settings: EventLogSettings): KafkaEventLog {
  const codec = renderEventCodec()
  const topic = settings.prefix + EVENT_TOPIC
  const consumers = new Map<GroupConsumer, string>()
  const log: EventTopic = { ...settings, connection, codec, topic, consumers }
  return {
    follow: (reader, signal) => follow(log, reader, signal),
    replay: (reader, begin, signal) => replay(log, { reader, begin }, signal),
    append: (event, signal) => {
      const { render } = event.manifest
      const headers = { v: String(FORMAT) }
      return connection.send(topic, [{ key: render.id, value: codec.encode(event), headers }], signal)
    },
    isAlive: () => [...consumers.keys()].every((consumer) => consumer.isAlive()),
    lag: (reader) => [...consumers].flatMap(([consumer, name]) => (name === (reader ?? name) ? consumer.lag() : [])),
  }
}

interface EventTopic extends EventLogSettings {
  readonly connection: KafkaConnection
  readonly codec: Codec<RenderEvent>
  /** Full name, with the prefix. */
  readonly topic: string
  readonly consumers: Map<GroupConsumer, string>
}

async function* follow(log: EventTopic, reader: string, signal: AbortSignal): AsyncGenerator<ReceivedEvent> {
  const { connection, prefix, topic, codec, consumers } = log
  const arrival = openNotifier()
  const waiting = new Set<number>()
  try {
    await using consumer = await join(log, { reader, onRecords: () => arrival.notify() }, signal)
    const reading = new ReaderPosition(connection, { group: prefix + readerGroup(reader), topic, consumer })
    // Runs before the consumer is closed. Afterwards `done` commits in another way.
    using _ended = { [Symbol.dispose]: () => void (consumers.delete(consumer) && reading.leave()) }
    for (;;) {
      const record = consumer.poll(topic)
      if (record === undefined) {
        await arrival.wait(signal)
        continue
      }
      // Nothing after a waiting record of this partition may be done.
      if (waiting.has(record.partition)) continue
      const decoded = codec.decode(record.headers['v']?.toString(), record.value)
      if ('value' in decoded) {
        yield { event: decoded.value, done: reading.track(record) }
        signal.throwIfAborted()
      } else if ('newer' in decoded) {
        leaveRecord(record, decoded.newer, connection.log)
        waiting.add(record.partition)
      } else {
        await deadLetter(log, { record, reason: decoded.fault }, signal)
      }
    }
  } catch (cause) {
    // An aborted signal ends following normally; everything else is an error.
    if (!signal.aborted) throw cause
  }
}

async function* replay(
  log: EventTopic,
  { reader, begin }: { readonly reader: string; readonly begin: ReplayStart },
  signal: AbortSignal,
): AsyncGenerator<readonly EventBatch[]> {
  const arrival = openNotifier()
  try {
    await using consumer = await join(log, { reader, onRecords: () => arrival.notify(), isSeeking: true }, signal)
    using _ended = { [Symbol.dispose]: () => void log.consumers.delete(consumer) }
    yield* eventBatches({ ...log, consumer, begin, arrival }, signal)
  } catch (cause) {
    if (!signal.aborted) throw cause
  }
}

interface JoinOptions extends Pick<ConsumerSettings, 'onRecords' | 'isSeeking'> {
  readonly reader: string
}

/** Waits while Kafka is unavailable, as existing readers do. */
async function join(
  { connection, prefix, topic, consumers }: EventTopic,
  { reader, ...settings }: JoinOptions,
  signal: AbortSignal,
): Promise<GroupConsumer> {
  signal.throwIfAborted()
  const group = prefix + readerGroup(reader)
  const open = () => openConsumer(connection, { group, topics: [topic], ...settings }, signal)
  const consumer = await retryWhileUnavailable(open, { ...connection, dependency: 'kafka', operation: 'open', signal })
  consumers.set(consumer, reader)
  return consumer
}

async function deadLetter(
  { connection, prefix, topic, deadLettered }: EventTopic,
  { record, reason }: { readonly record: ConsumedRecord; readonly reason: string },
  signal: AbortSignal,
): Promise<void> {
  const send = () => deadLetterRecord(connection, { record, reason, deadTopic: prefix + DEAD_TOPIC }, signal)
  await retryWhileUnavailable(send, { ...connection, dependency: 'kafka', operation: 'deadLetter', signal })
  record.done()
  deadLettered?.()
  const { partition, offset } = record
  connection.log.error({ topic, partition, offset, reason }, 'record dead-lettered')
}

interface Membership {
  readonly group: string
  readonly topic: string
  readonly consumer: GroupConsumer
}

class ReaderPosition {
  readonly #connection: KafkaConnection
  readonly #membership: Membership
  readonly #given: ConsumedRecord[] = []
  /** By partition: the offset to commit. */
  readonly #positions = new Map<number, number>()
  #isMember = true

  constructor(connection: KafkaConnection, membership: Membership) {
    this.#connection = connection
    this.#membership = membership
  }

  /** The returned function marks this record and all before it as done. */
  track(record: ConsumedRecord): () => Promise<void> {
    this.#given.push(record)
    return async () => {
      const at = this.#given.indexOf(record)
      for (const done of this.#given.splice(0, at + 1)) {
        done.done()
        this.#positions.set(done.partition, done.offset + 1)
      }
      await this.#commit()
    }
  }

  /** Call this before the consumer is closed. */
  leave(): void {
    this.#isMember = false
  }

  async #commit(): Promise<void> {
    const { clock } = this.#connection
    const { group, topic, consumer } = this.#membership
    const signal = clock.timeout(KAFKA_JOIN_MS_MAX)
    if (this.#isMember) return await consumer.commit(signal)
    try {
      const admin = await this.#connection.admin()
      const { groups } = await admin.describeGroups([group])
      // Other members have the partitions by now, and read the uncommitted records again.
      if (groups.some(({ state }) => state !== 'Empty')) return
      await commitInGroup(this.#connection, { group, topics: [topic], offset: this.#lateOffset.bind(this) }, signal)
    } catch (cause) {
      throwUnavailable(cause)
    }
  }

  #lateOffset(committed: number | undefined, _low: number, { partition }: { partition: number }): number | undefined {
    const position = this.#positions.get(partition)
    return position !== undefined && position > (committed ?? 0) ? position : undefined
  }
}
