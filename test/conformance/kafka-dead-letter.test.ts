/** Tests what happens to records on Kafka that nobody can process. */
import type { OutgoingRecord } from '@platen/adapters/kafka/connect.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { expect, test } from 'vitest'
import { anEvent, aRecord } from '../fixture/build.ts'
import { describeOnKafka, ONE_PARTITION } from './kafka-harness.ts'
import { committedIn, firstIn, take, textOf } from './kafka-record.ts'

const V1 = { v: '1' }
const UNREADABLE: readonly (readonly [string, OutgoingRecord, string])[] = [
  ['garbage', { key: 'a', value: Buffer.from([0, 255, 1, 254]), headers: V1 }, 'it is not JSON'],
  ['nothing', { key: null, value: null, headers: V1 }, 'it is not JSON'],
  ['a record without a version', { key: 'a', value: JSON.stringify(aRecord()) }, 'it has no version'],
  ['a record of no version', { key: 'a', value: '{}', headers: { v: 'x', extra: 'kept' } }, 'version "x" is unknown'],
  ['a record that lacks most', { key: 'a', value: '{"id":1}', headers: V1 }, '/id must be string'],
]

describeOnKafka('a dead letter on Kafka', (kafka) => {
  test.for(UNREADABLE)(
    'is made of %s, and what comes after it is served',
    async ([, unreadable, reason], { signal }) => {
      const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
      await using connection = await kafka.connect()
      const topic = `${prefix}render.react_pdf.async`
      const counted = Promise.withResolvers<void>()
      {
        await using queue = kafkaRenderQueue(connection, { prefix, deadLettered: () => counted.resolve() })
        const consumer = await queue.consume('react_pdf', signal)
        await connection.send(topic, [unreadable], signal)
        const record = aRecord()
        await queue.enqueue(record, signal)
        const delivery = await take(consumer, signal)
        expect(delivery.record).toStrictEqual(record)
        await delivery.done(signal)
        const letter = await firstIn(connection, `${prefix}render.dead`, signal)
        expect(letter.value).toStrictEqual(unreadable.value === null ? null : Buffer.from(unreadable.value))
        expect(letter.key?.toString()).toBe(unreadable.key ?? undefined)
        expect(textOf(letter)).toMatchObject({
          ...unreadable.headers,
          'platen-reason': expect.stringContaining(reason),
          'platen-topic': topic,
          'platen-partition': '0',
          'platen-offset': '0',
        })
        // The counter is called when the offset may be committed.
        await counted.promise
      }
      expect(await committedIn(connection, topic)).toBe('2')
    },
  )

  test('is made of a render that was dead-lettered, as it was queued', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    await using connection = await kafka.connect()
    const record = aRecord()
    {
      await using queue = kafkaRenderQueue(connection, { prefix })
      const consumer = await queue.consume('react_pdf', signal)
      await queue.enqueue(record, signal)
      await (await take(consumer, signal)).deadLetter('render_crashed', signal)
    }
    const letter = await firstIn(connection, `${prefix}render.dead`, signal)
    expect(JSON.parse(String(letter.value))).toStrictEqual(record)
    expect(letter.key?.toString()).toBe(record.id)
    expect(textOf(letter)).toMatchObject({ v: '1', 'platen-reason': 'render_crashed' })
    expect(await committedIn(connection, `${prefix}render.react_pdf.async`)).toBe('1')
  })

  test('is made of what is no event, and the next event is given', async ({ signal }) => {
    const { prefix } = await kafka.topics('events', { partitions: ONE_PARTITION })
    await using connection = await kafka.connect()
    const log = kafkaEventLog(connection, { prefix })
    await connection.send(`${prefix}render.events`, [{ key: 'a', value: 'garbage', headers: V1 }], signal)
    const event = anEvent()
    await log.append(event, signal)
    for await (const given of log.follow('webhooks', signal)) {
      expect(given.event).toStrictEqual(event)
      break
    }
    expect((await firstIn(connection, `${prefix}render.dead`, signal)).value?.toString()).toBe('garbage')
  })
})
