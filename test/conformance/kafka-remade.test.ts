/**
 * Tests processes that run while somebody deletes topics and makes them again: the new ones have other records under the same offsets.
 * What is accepted from then on must be delivered, and the log must not be flooded.
 */

import { connectKafka } from '@platen/adapters/kafka/connect.ts'
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { KAFKA_UNCOMMITTED_RECORDS_MAX } from '@platen/adapters/kafka/partition/partition.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import {
  prepareTopics,
  renderTopics,
  requireTopics,
  type Topic,
  type TopicSettings,
} from '@platen/adapters/kafka/topic.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { expect, test } from 'vitest'
import { anEvent, aRecord, type LogLine, logTo, rejectionOf } from '../fixture/build.ts'
import { poll } from '../time/poll.ts'
import { connectTo, describeOnKafka, type KafkaFixture, ONE_PARTITION } from './kafka-harness.ts'
import { take, untilTaken } from './kafka-record.ts'

/** A consumer that finds its topic missing again and again joins after some seconds, on a busy machine later. */
const PATIENT = { timeout: 240_000 }
const BEFORE = 5
/** Of the three lanes, and of the event log. */
const CONSUMERS = 4

describeOnKafka('topics that are made again while processes run', (kafka) => {
  test.for([
    { name: 'at once, with fewer records than before', count: 3, isMissed: false },
    { name: 'at once, with more records than before', count: 15, isMissed: false },
    { name: 'when they are missed, with fewer records than before', count: 3, isMissed: true },
    { name: 'when they are missed, with more records than before', count: 15, isMissed: true },
  ])('$name, are read from their beginning', PATIENT, async ({ count, isMissed }, { signal }) => {
    await using scene = await aScene(kafka, signal)
    const { connection, settings, lines } = scene
    await using queue = kafkaRenderQueue(connection, settings)
    const consumer = await queue.consume('react_pdf', signal)
    const log = kafkaEventLog(connection, settings)
    const events = log.follow('webhooks', signal)[Symbol.asyncIterator]()
    const accept = async (size: number) => {
      const records = Array.from({ length: size }, () => aRecord())
      for (const record of records) await untilTaken(() => queue.enqueue(record, signal), signal)
      return records.map(({ id }) => id)
    }
    const appendEvents = async (size: number) => {
      const sent = Array.from({ length: size }, () => anEvent())
      for (const event of sent) await untilTaken(() => log.append(event, signal), signal)
      return sent.map(({ id }) => id)
    }
    /** Takes as many different renders and events, and finishes each of them. */
    const takeAll = async (size: number) => {
      const [renders, ids] = [new Set<string>(), new Set<string>()]
      while (renders.size < size) {
        const delivery = await take(consumer, signal)
        renders.add(delivery.record.id)
        await delivery.done(signal)
      }
      while (ids.size < size) {
        const { value } = await events.next()
        ids.add(value?.event.id ?? '')
        await value?.done()
      }
      return { renders: [...renders], events: [...ids] }
    }
    const before = { renders: await accept(BEFORE), events: await appendEvents(BEFORE) }
    expect(await takeAll(BEFORE)).toEqual(before)

    // Each consumer fails once after its retries, and from then on whenever it starts.
    const restarts = () => lines.filter(({ fields }) => String(fields['reason']).startsWith('Restarting')).length
    const missed = () => poll(restarts).until((count) => count >= 3 * CONSUMERS)
    const check = () => rejectionOf(requireTopics(connection, scene.topics, settings))
    expect(await check()).toBeUndefined()
    const reportedMissing = async () => {
      await missed()
      expect(String(await check())).toContain(`missing in Kafka: ${settings.prefix}render.`)
    }
    await remake(scene, { ...(isMissed && { missed: reportedMissing }), signal })
    expect(await check()).toBeUndefined()
    const after = { renders: await accept(count), events: await appendEvents(count) }
    expect(await takeAll(count)).toEqual(after)
    const lost = lines.filter(({ message }) => message === 'kafka lost records, reading again')
    const lanes = ['render.events', 'render.react_pdf.async'].map((topic) => settings.prefix + topic)
    expect(new Set(lost.map(({ fields }) => fields['topic']))).toEqual(new Set(lanes))
    const warnings = lines.filter(({ level }) => level === 'warn')
    expect(warnings.filter(({ fields }) => JSON.stringify(fields).includes('does not host'))).toEqual([])
    const crashes = warnings.filter(({ message }) => message === 'consumer crashed, restarting')
    if (isMissed) expect(crashes.length).toBeLessThan(restarts())
  })

  test(
    'are read from their beginning by a consumer that had read nothing, as all was deleted after its time',
    PATIENT,
    async ({ signal }) => {
      await using scene = await aScene(kafka, signal)
      const { connection, settings } = scene
      const topic = `${settings.prefix}render.react_pdf.async`
      const send = (count: number, value = 'a record') =>
        untilTaken(() => connection.send(topic, recordsOf(count, value), signal), signal)
      await send(BEFORE)
      {
        await using first = await member(scene, signal)
        for (let i = 0; i < BEFORE; i++) (await first.next()).done()
      }
      const admin = await connection.admin()
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(BEFORE) }] })
      await using second = await member(scene, signal)
      await poll(() => second.isStarted()).until((isStarted) => isStarted)
      await remake(scene, { signal })
      await send(BEFORE - 2)
      expect((await second.next()).offset).toBe(0)
    },
  )

  test('are read from their beginning by a consumer that had no room meanwhile', PATIENT, async ({ signal }) => {
    await using scene = await aScene(kafka, signal)
    const { connection, settings } = scene
    const topic = `${settings.prefix}render.react_pdf.async`
    const send = (count: number, value = 'a record') =>
      untilTaken(() => connection.send(topic, recordsOf(count, value), signal), signal)
    await send(KAFKA_UNCOMMITTED_RECORDS_MAX, 'before')
    await using reader = await member(scene, signal)
    const first = await reader.next()
    await poll(() => reader.lag()).until((records) => records === KAFKA_UNCOMMITTED_RECORDS_MAX)
    // By hand: a process would also join the group for a moment.
    const admin = await connection.admin()
    await admin.deleteTopics({ topics: [topic] })
    await poll(() => admin.listTopics()).until((names) => !names.includes(topic))
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false })
    await send(2 * KAFKA_UNCOMMITTED_RECORDS_MAX, 'after')
    first.done()
    const offsets: number[] = []
    while (offsets.length < 2 * KAFKA_UNCOMMITTED_RECORDS_MAX) {
      const record = await reader.next()
      record.done()
      if (String(record.value) === 'after') offsets.push(record.offset)
    }
    expect(offsets).toEqual(offsets.map((_, i) => i))
  })
})

/** An installation with a connection whose log is kept. */
async function aScene(kafka: KafkaFixture, signal: AbortSignal) {
  const settings = { prefix: kafka.prefix(), partitions: ONE_PARTITION }
  const topics = renderTopics(settings, ['webhooks'])
  const lines: LogLine[] = []
  const ports = { clock: systemClock(), log: logTo((line) => lines.push(line)) }
  const connection = await connectKafka({ brokers: [kafka.broker()], clientId: 'test' }, ports, signal)
  await prepareTopics(connection, topics, { settings, signal })
  return { kafka, settings, topics, lines, connection, [Symbol.asyncDispose]: connection[Symbol.asyncDispose] }
}

interface Scene {
  readonly kafka: KafkaFixture
  readonly settings: TopicSettings
  readonly topics: readonly Topic[]
}

/** Deletes all topics, waits until they are missed, and makes them again, as another process does at its start. */
async function remake(
  { kafka, settings, topics }: Scene,
  { missed, signal }: { readonly missed?: () => Promise<unknown> | undefined; readonly signal: AbortSignal },
): Promise<void> {
  await using connection = await connectTo({ broker: kafka.broker() })
  const admin = await connection.admin()
  await admin.deleteTopics({ topics: topics.map(({ name }) => settings.prefix + name) })
  await missed?.()
  await prepareTopics(connection, topics, { settings, signal })
}

/** Joins the group of a queue. */
async function member({ connection, settings }: Awaited<ReturnType<typeof aScene>>, signal: AbortSignal) {
  const topic = `${settings.prefix}render.react_pdf.async`
  const arrival = openNotifier()
  const settingsOf = { group: topic, topics: [topic], onRecords: () => arrival.notify() }
  const consumer = await openConsumer(connection, settingsOf, signal)
  return {
    isStarted: () => consumer.awaitingSeek().length === 0,
    lag: () => consumer.lag()[0]?.records,
    async next() {
      for (;;) {
        const record = consumer.poll(topic)
        if (record !== undefined) return record
        await arrival.wait(signal)
      }
    },
    [Symbol.asyncDispose]: () => consumer[Symbol.asyncDispose](),
  }
}

function recordsOf(count: number, value: string) {
  return Array.from({ length: count }, (_, i) => ({ key: `${i}`, value }))
}
