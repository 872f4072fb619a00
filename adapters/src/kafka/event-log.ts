/**
 * The event log on Kafka: one topic, and a group for each name under which it is read. An event's key is its render's id, so what
 * happened to a render is in one partition; order is kept in each partition.
 */
import type { RenderEvent } from '@platen/contract/event.ts'
import { KAFKA_JOIN_MS_MAX } from '@platen/contract/kafka-limit.ts'
import { openNotifier } from '@platen/contract/notifier.ts'
import type {
  EventBatch,
  EventLog,
  ReceivedEvent,
  ReplayableLog,
  ReplayStart,
} from '@platen/contract/port/event-log.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import type { Codec } from '@platen/contract/schema/codec.ts'
import { renderEventCodec } from '@platen/contract/schema/render-event.ts'
import { type KafkaConnection, throwUnavailable } from './connect.ts'
import { type ConsumedRecord, type ConsumerSettings, type GroupConsumer, openConsumer } from './consumer/consumer.ts'
import { eventBatches } from './consumer/event-batch.ts'
import { deadLetterRecord } from './dead-letter.ts'
import { commitInGroup } from './group.ts'
import type { Lag } from './partition/partition.ts'
import { DEAD_TOPIC, EVENT_TOPIC, readerGroup } from './topic.ts'

export interface EventLogSettings {
  /** Before the names of topics and groups; see `TopicSettings`. */
  readonly prefix: string
  /** Told of each record that was buried as it could not be read, for a counter. */
  readonly deadLettered?: (() => void) | undefined
}

export interface KafkaEventLog extends EventLog, ReplayableLog {
  /** False when nothing was heard of one who follows for so long that only a new process helps. */
  isAlive(): boolean
  /** What the partitions followed here still have to do; of one reader, or of all. */
  lag(reader?: string): readonly Lag[]
}

/** The log on a connection, in a topic that is there. */
export function kafkaEventLog(connection: KafkaConnection, { prefix, deadLettered }: EventLogSettings): KafkaEventLog {
  const codec = renderEventCodec()
  const topic = prefix + EVENT_TOPIC
  const consumers = new Map<GroupConsumer, string>()
  const log: EventTopic = { connection, prefix, deadLettered, codec, topic, consumers }
  return {
    follow: (reader, signal) => follow(log, reader, signal),
    replay: (reader, begin, signal) => replay(log, { reader, begin }, signal),
    append: (event, signal) =>
      connection.send(
        topic,
        [{ key: event.manifest.render.id, value: codec.encode(event), headers: { v: codec.version } }],
        signal,
      ),
    isAlive: () => [...consumers.keys()].every((consumer) => consumer.isAlive()),
    lag: (reader) => [...consumers].flatMap(([consumer, name]) => (name === (reader ?? name) ? consumer.lag() : [])),
  }
}

interface EventTopic extends EventLogSettings {
  readonly connection: KafkaConnection
  readonly codec: Codec<RenderEvent>
  /** Its full name. */
  readonly topic: string
  /** Those who read it here, with the names under which they do. */
  readonly consumers: Map<GroupConsumer, string>
}

async function* follow(log: EventTopic, reader: string, signal: AbortSignal): AsyncGenerator<ReceivedEvent> {
  const { connection, prefix, topic, codec, consumers } = log
  const arrival = openNotifier()
  try {
    await using consumer = await join(log, { reader, onRecords: () => arrival.notify() }, signal)
    const reading = new ReaderPosition(connection, { group: prefix + readerGroup(reader), topic, consumer })
    // Before the consumer goes: from then on what is done is committed another way.
    using _ended = { [Symbol.dispose]: () => void (consumers.delete(consumer) && reading.leave()) }
    for (;;) {
      const record = consumer.poll(topic)
      if (record === undefined) {
        await arrival.wait(signal)
        continue
      }
      const decoded = codec.decode(record.headers['v']?.toString(), record.value)
      if ('value' in decoded) {
        yield { event: decoded.value, done: reading.track(record) }
        signal.throwIfAborted()
      } else {
        await deadLetter(log, { record, reason: decoded.fault }, signal)
      }
    }
  } catch (cause) {
    // Being told to stop is how following ends; everything else is an error.
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
    // See `follow`.
    if (!signal.aborted) throw cause
  }
}

interface JoinOptions extends Pick<ConsumerSettings, 'onRecords' | 'isSeeking'> {
  readonly reader: string
}

/** Becomes one of those who read under a name, also where Kafka is away: whoever begins then waits as those do who had begun before. */
async function join(
  { connection, prefix, topic, consumers }: EventTopic,
  { reader, ...settings }: JoinOptions,
  signal: AbortSignal,
): Promise<GroupConsumer> {
  signal.throwIfAborted()
  const group = prefix + readerGroup(reader)
  const open = () => openConsumer(connection, { group, topics: [topic], ...settings }, signal)
  const consumer = await retryWhileUnavailable(open, { ...connection, signal })
  consumers.set(consumer, reader)
  return consumer
}

async function deadLetter(
  { connection, prefix, topic, deadLettered }: EventTopic,
  { record, reason }: { readonly record: ConsumedRecord; readonly reason: string },
  signal: AbortSignal,
): Promise<void> {
  const send = () => deadLetterRecord(connection, { record, reason, deadTopic: prefix + DEAD_TOPIC }, signal)
  await retryWhileUnavailable(send, { ...connection, signal })
  record.done()
  deadLettered?.()
  const { partition, offset } = record
  connection.log.warn({ topic, partition, offset, reason }, 'record dead-lettered')
}

interface Membership {
  readonly group: string
  readonly topic: string
  readonly consumer: GroupConsumer
}

/** What one who follows was given and is not through with. */
class ReaderPosition {
  readonly #connection: KafkaConnection
  readonly #membership: Membership
  readonly #given: ConsumedRecord[] = []
  /** What is to be committed of each partition that something is done in. */
  readonly #positions = new Map<number, number>()
  #isMember = true

  constructor(connection: KafkaConnection, membership: Membership) {
    this.#connection = connection
    this.#membership = membership
  }

  /** Gives a record out; the answer is what is called when the reader is through with it and all before it. */
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

  /** The consumer is about to be closed. */
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
      // Others have the partitions by now, and read again what was not committed.
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
