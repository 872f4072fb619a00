/**
 * The render queue on Kafka: one topic and one consumer group per engine and lane, since renderers may serve different lanes. The key of a
 * record is the render id, so renders are spread evenly over the partitions.
 *
 * A process is one member of a group, however many consumers it has for an engine. If one consumer returns a record, the others get it at
 * once, and no record is in two hands. An unreadable record is dead-lettered before its offset is committed. A record of a newer format
 * stays where it is.
 */
import { FORMAT } from '@platen/contract/domain/format.ts'
import { LANES, type Lane, type RenderRecord } from '@platen/contract/domain/render.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { QueuedRender, RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { renderRecordCodec } from '@platen/contract/stored/render-record.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'
import { firstAborted } from '@platen/lib/race.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import { openSerialQueue } from '@platen/lib/serial-queue.ts'
import { type KafkaConnection, throwUnavailable } from './connect.ts'
import { openConsumer } from './consumer/consumer.ts'
import type { ConsumedRecord, GroupConsumer } from './consumer/group-consumer.ts'
import { leaveRecord } from './consumer/leave-record.ts'
import { deadLetterRecord } from './dead-letter.ts'
import { KAFKA_ENQUEUE_MS_MAX } from './limit.ts'
import type { Watermark } from './partition/watermark.ts'
import { DEAD_TOPIC, queueTopic } from './topic.ts'

interface RenderQueueSettings {
  /** See `TopicSettings`. */
  readonly prefix: string
  /** The lanes consumed here; absent = all. Records of every lane can be enqueued. */
  readonly lanes?: readonly Lane[] | undefined
  /** Called for each dead letter, for a counter. */
  readonly deadLettered?: (() => void) | undefined
}

interface KafkaRenderQueue extends RenderQueue, AsyncDisposable {
  /** As in `GroupConsumer`, for all consumers. */
  isAlive(): boolean
}

/** The topics must exist. One queue per process, since only it knows which records are in hand. */
export function kafkaRenderQueue(connection: KafkaConnection, settings: RenderQueueSettings): KafkaRenderQueue {
  const codec = renderRecordCodec()
  const consumers = new Map<Engine, EngineConsumer>()
  const consumerOf = (engine: Engine) => {
    const consumer = consumers.get(engine) ?? new EngineConsumer({ connection, settings, engine, codec })
    consumers.set(engine, consumer)
    return consumer
  }
  return {
    async enqueue(record, signal) {
      const topic = settings.prefix + queueTopic(record.engine, record.lane)
      const message = {
        key: record.id,
        value: codec.encode(record),
        headers: { v: String(FORMAT) },
      }
      using limited = firstAborted([signal, connection.clock.timeout(KAFKA_ENQUEUE_MS_MAX)])
      await connection.send(topic, [message], limited.signal).catch((cause: unknown) => {
        signal.throwIfAborted()
        return throwUnavailable(cause)
      })
    },
    consume: (engine, signal) => consumerOf(engine).enter(signal),
    isAlive: () => [...consumers.values()].every((consumer) => consumer.isAlive()),
    async [Symbol.asyncDispose]() {
      await Promise.all([...consumers.values()].map((consumer) => consumer[Symbol.asyncDispose]()))
    },
  }
}

interface EngineConsumerOptions {
  readonly connection: KafkaConnection
  readonly settings: RenderQueueSettings
  readonly engine: Engine
  readonly codec: ReturnType<typeof renderRecordCodec>
}

interface ConsumerHandle {
  readonly arrival: Notifier
  readonly held: Set<ConsumedRecord>
}

/** The consumers of one engine in this process: a member of each lane's group while there is at least one consumer. */
class EngineConsumer implements AsyncDisposable {
  readonly #options: EngineConsumerOptions
  readonly #topics: ReadonlyMap<Lane, string>
  /** Outlive the members, since some renders are done only after their consumer was closed. */
  readonly #watermarks = new Map<string, Watermark>()
  readonly #handles = new Set<ConsumerHandle>()
  #members = new Map<Lane, GroupConsumer>()
  readonly #serialize = openSerialQueue()
  readonly #closing = new AbortController()

  constructor(options: EngineConsumerOptions) {
    this.#options = options
    const { settings, engine } = options
    this.#topics = new Map((settings.lanes ?? LANES).map((lane) => [lane, settings.prefix + queueTopic(engine, lane)]))
  }

  async enter(signal: AbortSignal): Promise<RenderConsumer> {
    signal.throwIfAborted()
    const handle: ConsumerHandle = { arrival: openNotifier(), held: new Set() }
    await this.#serialize(async () => {
      if (this.#members.size === 0) this.#members = await this.#join(signal)
      this.#handles.add(handle)
    })
    return {
      poll: (lane) => (this.#handles.has(handle) ? this.#poll(lane, handle) : undefined),
      waitForRecord: (waiting) => handle.arrival.wait(waiting),
      [Symbol.asyncDispose]: () => this.#serialize(() => this.#leave(handle)),
    }
  }

  isAlive(): boolean {
    return [...this.#members.values()].every((member) => member.isAlive())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the queue was closed'))
    for (const handle of this.#handles) await this.#serialize(() => this.#leave(handle))
  }

  async #join(signal: AbortSignal): Promise<Map<Lane, GroupConsumer>> {
    const { connection } = this.#options
    const onRecords = () => {
      for (const { arrival } of this.#handles) arrival.notify()
    }
    const joining = [...this.#topics].map(async ([lane, topic]) => {
      const settings = { group: topic, topics: [topic], onRecords, watermarks: this.#watermarks }
      return [lane, await openConsumer(connection, settings, signal)] as const
    })
    const joined = await Promise.allSettled(joining)
    const members = joined.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const refused = joined.find((each) => each.status === 'rejected')
    if (refused === undefined) return new Map(members)
    await Promise.all(members.map(([, member]) => member[Symbol.asyncDispose]()))
    throw refused.reason
  }

  async #leave(handle: ConsumerHandle): Promise<void> {
    if (!this.#handles.delete(handle)) return
    for (const record of handle.held) record.requeue()
    handle.held.clear()
    if (this.#handles.size > 0) return
    const members = [...this.#members.values()]
    this.#members = new Map()
    await Promise.all(members.map((member) => member[Symbol.asyncDispose]()))
  }

  #poll(lane: Lane, handle: ConsumerHandle): QueuedRender | undefined {
    const topic = this.#topics.get(lane)
    const member = this.#members.get(lane)
    if (topic === undefined || member === undefined) return undefined
    for (let record = member.poll(topic); record !== undefined; record = member.poll(topic)) {
      const decoded = this.#options.codec.decode(record.headers['v']?.toString(), record.value)
      if ('value' in decoded) return this.#deliver(record, decoded.value, handle)
      if ('newer' in decoded) leaveRecord(record, decoded.newer, this.#options.connection.log)
      else void this.#remove(record, decoded.fault)
    }
    return undefined
  }

  #deliver(held: ConsumedRecord, record: RenderRecord, handle: ConsumerHandle): QueuedRender {
    const { connection, settings } = this.#options
    handle.held.add(held)
    const done = () => {
      handle.held.delete(held)
      held.done()
    }
    return {
      record,
      async done(signal) {
        signal.throwIfAborted()
        done()
      },
      async deadLetter(reason, signal) {
        await deadLetterRecord(connection, { record: held, reason, deadTopic: settings.prefix + DEAD_TOPIC }, signal)
        done()
      },
    }
  }

  /** Dead-letters an unreadable record. Never rejects. If interrupted, the next owner of the partition gets the record. */
  async #remove(record: ConsumedRecord, fault: string): Promise<void> {
    const { connection } = this.#options
    const { topic, partition, offset } = record
    const { signal } = this.#closing
    try {
      const move = () => this.#deadLetter(record, fault)
      await retryWhileUnavailable(move, { ...connection, dependency: 'kafka', operation: 'deadLetter', signal })
      record.done()
    } catch (err) {
      record.requeue()
      if (!signal.aborted) connection.log.error({ topic, partition, offset, err }, 'record not removed')
    }
  }

  async #deadLetter(record: ConsumedRecord, reason: string): Promise<void> {
    const { connection, settings } = this.#options
    const { topic, partition, offset } = record
    await deadLetterRecord(
      connection,
      { record, reason, deadTopic: settings.prefix + DEAD_TOPIC },
      this.#closing.signal,
    )
    settings.deadLettered?.()
    connection.log.error({ topic, partition, offset, reason }, 'record dead-lettered')
  }
}
