/**
 * Tests what a process does with records on Kafka that a newer version wrote: it leaves them to processes that can read them, and does
 * not let the records behind them wait.
 */
import { returnSetAside } from '@platen/adapters/kafka/consumer/set-aside.ts'
import { openKafkaDeliveryLog } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { readBacklog } from '@platen/adapters/kafka/partition/backlog.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { FORMAT, FORMAT_DEFAULT, NewerFormat } from '@platen/contract/format.ts'
import { expect, test } from 'vitest'
import { aDelivery, anEvent, aRecord } from '../fixture/build.ts'
import { take as takeDelivery } from './delivery-log.suite.ts'
import { describeOnKafka, ONE_PARTITION } from './kafka-harness.ts'
import { committedIn, endOf, firstIn, manyIn, take, textOf } from './kafka-record.ts'

const NEWER = FORMAT + 1
/** Everything but the header may have changed. */
const VALUE = '{"everything":"is different"}'
const HEADERS = { v: String(NEWER), extra: 'kept' }
const BUCKET = 'platen'

describeOnKafka('a record of a newer format on Kafka', (kafka) => {
  test('is set aside by a renderer unchanged, and what comes after it is served', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    await using connection = await kafka.connect()
    const topic = `${prefix}render.react_pdf.async`
    let count = 0
    {
      await using queue = kafkaRenderQueue(connection, { prefix, onSetAside: () => void count++ })
      const consumer = await queue.consume('react_pdf', signal)
      await connection.send(topic, [{ key: 'a', value: VALUE, headers: HEADERS }], signal)
      const record = aRecord()
      await queue.enqueue(record, signal)
      const next = await take(consumer, signal)
      expect(next.record).toStrictEqual(record)
      await next.done(signal)
      const aside = await firstIn(connection, `${prefix}record.newer`, signal)
      expect([aside.key?.toString(), aside.value?.toString()]).toEqual(['a', VALUE])
      expect(textOf(aside)).toEqual({
        ...HEADERS,
        'platen-format': String(NEWER),
        'platen-topic': 'render.react_pdf.async',
      })
    }
    expect(count).toBe(1)
    expect(await endOf(connection, `${prefix}render.dead`)).toBe('0')
    expect(await committedIn(connection, topic)).toBe('2')
  })

  test('is not read by a renderer that found something newer belonging to it', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    await using connection = await kafka.connect()
    const record = aRecord()
    {
      await using queue = kafkaRenderQueue(connection, { prefix })
      const consumer = await queue.consume('react_pdf', signal)
      await queue.enqueue(record, signal)
      await (await take(consumer, signal)).setAside(new NewerFormat(NEWER), signal)
    }
    const aside = await firstIn(connection, `${prefix}record.newer`, signal)
    expect(JSON.parse(String(aside.value))).toStrictEqual(record)
    // The record itself is not newer, so its own version stays.
    expect(textOf(aside)).toMatchObject({ v: String(FORMAT_DEFAULT), 'platen-format': String(NEWER) })
    expect(await committedIn(connection, `${prefix}render.react_pdf.async`)).toBe('1')
  })

  test('is put back by a process that can read it, as it was, and stays while none can', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    await using connection = await kafka.connect()
    const record = aRecord()
    const asideOf = (format: number, value: string) => ({
      key: record.id,
      value,
      headers: { v: String(format), 'platen-format': String(format), 'platen-topic': 'render.react_pdf.async' },
    })
    const topic = `${prefix}record.newer`
    await connection.send(topic, [asideOf(NEWER, VALUE), asideOf(FORMAT, JSON.stringify(record))], signal)
    {
      await using _returning = returnSetAside(connection, { prefix })
      await using queue = kafkaRenderQueue(connection, { prefix })
      const consumer = await queue.consume('react_pdf', signal)
      expect((await take(consumer, signal)).record).toStrictEqual(record)
    }
    const returned = await firstIn(connection, `${prefix}render.react_pdf.async`, signal)
    expect(textOf(returned)).toEqual({ v: String(FORMAT) })
    expect(await endOf(connection, `${prefix}render.react_pdf.async`)).toBe('1')
    // The newer one is not done, so the next process gets it.
    expect(await committedIn(connection, topic)).toBe('0')
    const { setAside } = await readBacklog(connection, { prefix, readers: [], deliveries: [] })
    expect(setAside).toBe(2)
  })

  test('is set aside by each reader of events, and comes back to that reader alone', async ({ signal }) => {
    const { prefix } = await kafka.topics('events', { partitions: ONE_PARTITION })
    await using connection = await kafka.connect()
    const log = kafkaEventLog(connection, { prefix })
    const topic = `${prefix}render.events`
    const event = anEvent()
    const mine = anEvent()
    const back = { key: 'k', value: JSON.stringify(mine), headers: { v: String(FORMAT), 'platen-reader': 'webhooks' } }
    await connection.send(topic, [{ key: 'k', value: VALUE, headers: HEADERS }, back], signal)
    await log.append(event, signal)
    const seen: Record<string, string[]> = { webhooks: [], quota: [], projection: [] }
    for (const reader of ['webhooks', 'quota'] as const)
      for await (const given of log.follow(reader, signal))
        if (seen[reader]?.push(given.event.id) && given.event.id === event.id) break
    for await (const batches of log.replay('projection', async () => ({ offset: 0 }), signal)) {
      seen['projection']?.push(...batches.flatMap(({ events }) => events.map(({ id }) => id)))
      if (seen['projection']?.includes(event.id)) break
    }
    expect(seen).toEqual({ webhooks: [mine.id, event.id], quota: [event.id], projection: [event.id] })
    const aside = await manyIn(connection, { topic: `${prefix}record.newer`, count: 3 }, signal)
    const origin = { ...HEADERS, 'platen-format': String(NEWER), 'platen-topic': 'render.events' }
    expect(aside.map(textOf)).toEqual(
      ['webhooks', 'quota', 'projection'].map((reader) => ({ ...origin, 'platen-reader': reader })),
    )
    expect(await endOf(connection, `${prefix}render.dead`)).toBe('0')
  })

  test.for([
    ['a reminder', async () => undefined],
    ['the object of a delivery', async (put: (text: string) => Promise<void>) => await put(`{"version":${NEWER}}`)],
  ] as const)('sets a delivery aside if it is %s, and the next one is given', async ([what, prepare], { signal }) => {
    const { prefix } = await kafka.topics('webhook', { partitions: ONE_PARTITION })
    await using connection = await kafka.connect()
    const artifacts = memoryArtifactStore()
    const { id, render } = aDelivery({ id: 'a' })
    await prepare((text) =>
      artifacts.put({ bucket: BUCKET, key: `delivery/of/${render}/${id}` }, Buffer.from(text), signal),
    )
    const version = what === 'a reminder' ? NEWER : FORMAT
    const value = JSON.stringify({ version, id, render, dueAt: 0, ripeAt: 0, step: 0 })
    const topics = what === 'a reminder' ? ['webhook.due', 'webhook.wait.5s'] : ['webhook.due']
    let count = 0
    const settings = { prefix, bucket: BUCKET, onSetAside: () => void count++ }
    const ports = { connection, artifacts, clock: systemClock(), ids: systemIds() }
    await using log = await openKafkaDeliveryLog(ports, settings, signal)
    for (const topic of topics) await connection.send(prefix + topic, [{ key: id, value }], signal)
    await log.schedule([aDelivery({ id: 'b' })], signal)
    expect((await takeDelivery(log, signal)).delivery.id).toBe('b')
    const aside = await manyIn(connection, { topic: `${prefix}record.newer`, count: topics.length }, signal)
    expect(aside.map((record) => record.value?.toString())).toEqual(topics.map(() => value))
    expect(new Set(aside.map((record) => textOf(record)['platen-topic']))).toEqual(new Set(topics))
    expect(await endOf(connection, `${prefix}webhook.dead`)).toBe('0')
    expect(count).toBe(topics.length)
  })
})
