/**
 * Tests what a process does with records on Kafka of a format that it does not read: it says so, and loses none. The queue of renders and
 * that of deliveries go on with what comes after them. A reader of the event log stops before them, because nothing that is made of the log
 * may go on without them.
 */
import { connectKafka } from '@platen/adapters/kafka/connect.ts'
import { openKafkaDeliveryLog } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { WEBHOOK_GROUP } from '@platen/adapters/kafka/delivery/topic.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { FORMAT, NewerFormat } from '@platen/contract/domain/format.ts'
import { expect, test } from 'vitest'
import { aDelivery, anEvent, aRecord, type LogLine, logTo } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { poll } from '../time/poll.ts'
import { take as takeDelivery } from './delivery-log.suite.ts'
import { describeOnKafka, type KafkaFixture, ONE_PARTITION } from './kafka-harness.ts'
import { endOf, take } from './kafka-record.ts'

/** Everything but the header may have changed. */
const NEWER = { key: 'a', value: '{"everything":"is different"}', headers: { v: String(FORMAT + 1) } }
const BUCKET = 'platen'

/** A connection, and the errors that are logged over it. */
async function connected(kafka: KafkaFixture, signal: AbortSignal) {
  const lines: LogLine[] = []
  const ports = { clock: systemClock(), log: logTo((line) => lines.push(line)) }
  const connection = await connectKafka({ brokers: [kafka.broker()], clientId: 'test' }, ports, signal)
  return {
    ...connection,
    errors: () => lines.filter(({ level }) => level === 'error'),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  }
}

const leftAt = (topic: string, offset: number) => ({
  level: 'error',
  message: 'record of a newer format left in its topic',
  fields: { topic, partition: 0, offset, err: new NewerFormat(FORMAT + 1) },
})

describeOnKafka('a record of a newer format on Kafka', (kafka) => {
  /** The committed offset of the first partition. */
  const committed = async (groupId: string, topic: string) => {
    await using connection = await kafka.connect()
    const [offsets] = await (await connection.admin()).fetchOffsets({ groupId, topics: [topic] })
    return offsets?.partitions[0]?.offset
  }
  const deadIn = async (topic: string) => {
    await using connection = await kafka.connect()
    return await endOf(connection, topic)
  }

  test('is left by each renderer that gets it, and what comes after it is served', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    const topic = `${prefix}render.react_pdf.async`
    const record = aRecord()
    {
      await using connection = await kafka.connect()
      await connection.send(topic, [NEWER], signal)
      await kafkaRenderQueue(connection, { prefix }).enqueue(record, signal)
    }
    for (let start = 0; start < 2; start += 1) {
      await using connection = await connected(kafka, signal)
      {
        await using queue = kafkaRenderQueue(connection, { prefix })
        const next = await take(await queue.consume('react_pdf', signal), signal)
        expect(next.record).toStrictEqual(record)
        await next.done(signal)
      }
      expect(connection.errors()).toMatchObject([leftAt(topic, 0)])
    }
    // So the next process gets it, too.
    expect([await committed(topic, topic), await deadIn(`${prefix}render.dead`)]).toEqual(['0', '0'])
  })

  test('stops the readers of events before it, in its partition', async ({ signal }) => {
    const { prefix } = await kafka.topics('events', { partitions: ONE_PARTITION })
    const topic = `${prefix}render.events`
    const [before, after] = [anEvent(), anEvent()]
    await using connection = await connected(kafka, signal)
    const log = kafkaEventLog(connection, { prefix })
    await log.append(before, signal)
    await connection.send(topic, [NEWER], signal)
    await log.append(after, signal)
    const stop = new AbortController()
    const seen: Record<'followed' | 'replayed', string[]> = { followed: [], replayed: [] }
    const ends = new Set<number>()
    const following = (async () => {
      for await (const received of log.follow('webhooks', stop.signal)) {
        seen.followed.push(received.event.id)
        await received.done()
      }
    })()
    const replaying = (async () => {
      for await (const batches of log.replay('projection', async () => ({ offset: 0 }), stop.signal)) {
        seen.replayed.push(...batches.flatMap(({ events }) => events.map(({ id }) => id)))
        for (const batch of batches) {
          ends.add(batch.to)
          batch.done()
        }
      }
    })()
    await poll(connection.errors).until((lines) => lines.length === 2)
    await poll(() => seen.replayed).until((ids) => ids.length > 0)
    stop.abort()
    await Promise.all([following, replaying])
    expect(seen).toEqual({ followed: [before.id], replayed: [before.id] })
    expect([...ends].filter((end) => end > 0)).toEqual([1])
    expect(connection.errors()).toMatchObject([leftAt(topic, 1), leftAt(topic, 1)])
    expect(await committed(`${topic}.webhooks`, topic)).toBe('1')
    expect(await deadIn(`${prefix}render.dead`)).toBe('0')
  })

  test.for([
    { what: 'a reminder', topics: ['webhook.due', 'webhook.wait.5s'] },
    { what: 'the object of a delivery', topics: ['webhook.due'] },
  ])('is left where it is if it is $what, and the next delivery is given', async ({ what, topics }, { signal }) => {
    const { prefix } = await kafka.topics('webhook', { partitions: ONE_PARTITION })
    await using connection = await connected(kafka, signal)
    const artifacts = memoryArtifactStore()
    const { id, render } = aDelivery({ id: 'a' })
    const isReminder = what === 'a reminder'
    const address = { bucket: BUCKET, key: `delivery/of/${render}/${id}` }
    if (!isReminder) await artifacts.put(address, Buffer.from(`{"version":${FORMAT + 1}}`), signal)
    const version = isReminder ? FORMAT + 1 : FORMAT
    const value = JSON.stringify({ version, id, render, dueAt: 0, ripeAt: 0, step: 0 })
    for (const topic of topics) await connection.send(prefix + topic, [{ key: id, value }], signal)
    {
      const ports = { connection, artifacts, clock: systemClock(), ids: systemIds() }
      await using log = await openKafkaDeliveryLog(ports, { prefix, bucket: BUCKET }, signal)
      await log.schedule([aDelivery({ id: 'b' })], signal)
      const next = await takeDelivery(log, signal)
      expect(next.delivery.id).toBe('b')
      await poll(connection.errors).until((lines) => lines.length === topics.length)
    }
    const lines = connection
      .errors()
      .toSorted((one, other) => (String(one.fields['topic']) < String(other.fields['topic']) ? -1 : 1))
    expect(lines).toMatchObject(topics.map((topic) => leftAt(prefix + topic, 0)))
    for (const topic of topics) expect(await committed(prefix + WEBHOOK_GROUP, prefix + topic)).toBe('0')
    expect(await deadIn(`${prefix}webhook.dead`)).toBe('0')
  })
})
