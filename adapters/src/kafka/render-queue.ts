/**
 * The render queue on Kafka: a topic per engine and lane, and one group of renderers for each, as renderers may differ in the lanes
 * they serve. A render's key is its id, so renders are spread evenly over the partitions.
 *
 * However many consume an engine in this process, the process is one member: what one gives back the others have at once, and no
 * record is in two hands. A record nobody can read goes to the dead letters before its offset is passed.
 */
import { type Bell, bell } from '@platen/contract/bell.ts'
import { KAFKA_ENQUEUE_MS_MAX } from '@platen/contract/kafka-limit.ts'
import type { RenderConsumer, RenderDelivery, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { LANES, type Lane, type RenderRecord } from '@platen/contract/render.ts'
import { type Engine } from '@platen/contract/render-options.ts'
import { repeatWhileUnavailable } from '@platen/contract/repeat.ts'
import { renderRecordCodec } from '@platen/contract/schema/render-record.ts'
import { type KafkaConnection, unavailable } from './connect.ts'
import { type ConsumedRecord, type GroupConsumer, openConsumer } from './consumer/consumer.ts'
import { buryRecord } from './dead-letter.ts'
import type { Watermark } from './partition/watermark.ts'
import { DEAD_TOPIC, lineTopic } from './topic.ts'

export interface RenderQueueSettings {
  /** Before the names of topics and groups; see `TopicSettings`. */
  readonly prefix: string
  /** Which lanes are consumed here; all if absent. Every lane takes what is put in. */
  readonly lanes?: readonly Lane[] | undefined
  /** Told of each record that was buried as it could not be read, for a counter. */
  readonly buried?: (() => void) | undefined
}

/** Closing it closes its consumers. */
export interface KafkaRenderQueue extends RenderQueue, AsyncDisposable {
  /** False when nothing was heard of a consumer for so long that only a new process helps. */
  isAlive(): boolean
}

/** The queue on a connection, in topics that are there. One a process, as it alone knows what is in hand. */
export function kafkaRenderQueue(connection: KafkaConnection, settings: RenderQueueSettings): KafkaRenderQueue {
  const codec = renderRecordCodec()
  const stations = new Map<Engine, Station>()
  const stationOf = (engine: Engine) => {
    const station = stations.get(engine) ?? new Station({ connection, settings, engine, codec })
    stations.set(engine, station)
    return station
  }
  return {
    async enqueue(record, signal) {
      const topic = settings.prefix + lineTopic(record.engine, record.lane)
      const message = { key: record.id, value: codec.encode(record), headers: { v: codec.version } }
      const deadline = connection.clock.timeout(KAFKA_ENQUEUE_MS_MAX)
      await connection.send(topic, [message], AbortSignal.any([signal, deadline])).catch((cause: unknown) => {
        signal.throwIfAborted()
        return unavailable(cause)
      })
    },
    consume: (engine, signal) => stationOf(engine).enter(signal),
    isAlive: () => [...stations.values()].every((station) => station.isAlive()),
    async [Symbol.asyncDispose]() {
      await Promise.all([...stations.values()].map((station) => station[Symbol.asyncDispose]()))
    },
  }
}

interface Place {
  readonly connection: KafkaConnection
  readonly settings: RenderQueueSettings
  readonly engine: Engine
  readonly codec: ReturnType<typeof renderRecordCodec>
}

/** What one of those who consume in this process has in hand. */
interface Hand {
  readonly bell: Bell
  readonly held: Set<ConsumedRecord>
}

/** This process among the renderers of one engine: a member of each lane's group while anybody consumes. */
class Station implements AsyncDisposable {
  readonly #place: Place
  readonly #topics: ReadonlyMap<Lane, string>
  /** Outlives the members, as renders do that are done only after their consumer was closed. */
  readonly #memory = new Map<string, Watermark>()
  readonly #hands = new Set<Hand>()
  #members = new Map<Lane, GroupConsumer>()
  /** Entering and leaving go one after the other. */
  #change: Promise<unknown> = Promise.resolve()
  readonly #closing = new AbortController()

  constructor(place: Place) {
    this.#place = place
    const { settings, engine } = place
    this.#topics = new Map((settings.lanes ?? LANES).map((lane) => [lane, settings.prefix + lineTopic(engine, lane)]))
  }

  async enter(signal: AbortSignal): Promise<RenderConsumer> {
    signal.throwIfAborted()
    const hand: Hand = { bell: bell(), held: new Set() }
    await this.#oneByOne(async () => {
      if (this.#members.size === 0) this.#members = await this.#join(signal)
      this.#hands.add(hand)
    })
    return {
      poll: (lane) => (this.#hands.has(hand) ? this.#take(lane, hand) : undefined),
      arrival: (waiting) => hand.bell.rung(waiting),
      [Symbol.asyncDispose]: () => this.#oneByOne(() => this.#leave(hand)),
    }
  }

  isAlive(): boolean {
    return [...this.#members.values()].every((member) => member.isAlive())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the queue was closed'))
    for (const hand of this.#hands) await this.#oneByOne(() => this.#leave(hand))
  }

  async #oneByOne(step: () => Promise<void>): Promise<void> {
    const done = this.#change.then(step)
    this.#change = done.catch(() => undefined)
    await done
  }

  async #join(signal: AbortSignal): Promise<Map<Lane, GroupConsumer>> {
    const { connection } = this.#place
    const arrived = () => {
      for (const { bell } of this.#hands) bell.ring()
    }
    const joining = [...this.#topics].map(async ([lane, topic]) => {
      const settings = { group: topic, topics: [topic], arrived, memory: this.#memory }
      return [lane, await openConsumer(connection, settings, signal)] as const
    })
    const joined = await Promise.allSettled(joining)
    const members = joined.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const refused = joined.find((each) => each.status === 'rejected')
    if (refused === undefined) return new Map(members)
    await Promise.all(members.map(([, member]) => member[Symbol.asyncDispose]()))
    throw refused.reason
  }

  async #leave(hand: Hand): Promise<void> {
    if (!this.#hands.delete(hand)) return
    for (const record of hand.held) record.giveBack()
    hand.held.clear()
    if (this.#hands.size > 0) return
    const members = [...this.#members.values()]
    this.#members = new Map()
    await Promise.all(members.map((member) => member[Symbol.asyncDispose]()))
  }

  #take(lane: Lane, hand: Hand): RenderDelivery | undefined {
    const topic = this.#topics.get(lane)
    const member = this.#members.get(lane)
    if (topic === undefined || member === undefined) return undefined
    for (let record = member.poll(topic); record !== undefined; record = member.poll(topic)) {
      const decoded = this.#place.codec.decode(record.headers['v']?.toString(), record.value)
      if ('value' in decoded) return this.#deliver(record, decoded.value, hand)
      void this.#buryUnreadable(record, decoded.fault)
    }
    return undefined
  }

  #deliver(held: ConsumedRecord, record: RenderRecord, hand: Hand): RenderDelivery {
    const { connection, settings } = this.#place
    hand.held.add(held)
    const done = () => {
      hand.held.delete(held)
      held.done()
    }
    return {
      record,
      async done(signal) {
        signal.throwIfAborted()
        done()
      },
      async bury(reason, signal) {
        await buryRecord(connection, { record: held, reason, deadTopic: settings.prefix + DEAD_TOPIC }, signal)
        done()
      },
    }
  }

  /** Never rejects. Cut short, it leaves the record to whoever has the partition next. */
  async #buryUnreadable(record: ConsumedRecord, reason: string): Promise<void> {
    const { connection, settings } = this.#place
    const { topic, partition, offset } = record
    const { signal } = this.#closing
    try {
      const bury = () => buryRecord(connection, { record, reason, deadTopic: settings.prefix + DEAD_TOPIC }, signal)
      await repeatWhileUnavailable(bury, { ...connection, signal })
      record.done()
      settings.buried?.()
      connection.log.warn({ topic, partition, offset, reason }, 'record buried')
    } catch (err) {
      record.giveBack()
      if (!signal.aborted) connection.log.error({ topic, partition, offset, err }, 'record not buried')
    }
  }
}
