/** Tests the committed offsets of a queue topic that nobody reads. */

import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import { renewOffsets } from '@platen/adapters/kafka/group.ts'
import { keepOffsets } from '@platen/adapters/kafka/partition/offset-keeper.ts'
import { KAFKA_BUFFERED_BYTES_MAX } from '@platen/adapters/kafka/partition/partition.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { expect, test } from 'vitest'
import { kafkaLag, triggerOf } from '../bench/cluster/scale/keda.ts'
import { aRecord } from '../fixture/build.ts'
import { IS_LONG } from '../run/form.ts'
import { poll } from '../time/poll.ts'
import { describeOnKafka, describeOnOwnKafka, type KafkaFixture, ONE_PARTITION } from './kafka-harness.ts'

/** The retention of brokers: the default, and the shortest possible. */
const WEEK_MS = 7 * 24 * 3600 * 1000
const KEPT_MS = 60_000
const RENDERS = 3

describeOnKafka('offsets that are renewed', (kafka) => {
  test('are committed again as they are where nobody reads the line', async ({ signal }) => {
    await using connection = await kafka.connect()
    const { prefix } = await aLineThatWasRead(kafka, signal)
    await mark(connection, topicIn(prefix))
    expect(await offsetsOf(connection, prefix)).toEqual({ committed: RENDERS, end: RENDERS, metadata: MARK })
    await renew(connection, prefix, signal)
    expect(await offsetsOf(connection, prefix)).toEqual({ committed: RENDERS, end: RENDERS, metadata: null })
  })

  test('are left alone where a renderer reads it, as its partitions would be reassigned', async ({ signal }) => {
    await using connection = await kafka.connect()
    const { prefix } = await aLineThatWasRead(kafka, signal)
    await mark(connection, topicIn(prefix))
    await using queue = kafkaRenderQueue(connection, { prefix })
    await using _ = await queue.consume('html', signal)
    await renew(connection, prefix, signal)
    expect(await offsetsOf(connection, prefix)).toMatchObject({ committed: RENDERS, metadata: MARK })
  })
})

describeOnKafka('an offset of what retention has deleted', (kafka) => {
  test('is brought up to the first record there is, and KEDA sees what waits', async ({ signal }) => {
    await using connection = await kafka.connect()
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    await using queue = kafkaRenderQueue(connection, { prefix })
    for (let count = 0; count < RENDERS; count++)
      await queue.enqueue(aRecord({ engine: 'html', mode: 'async', lane: 'bulk' }), signal)
    const admin = await connection.admin()
    expect(await lagOf(connection, prefix)).toBe(RENDERS)
    await admin.deleteTopicRecords({ topic: topicIn(prefix), partitions: [{ partition: 0, offset: String(RENDERS) }] })
    expect(await lagOf(connection, prefix)).toBe(RENDERS)
    await using _ = await queue.consume('html', signal)
    const { committed } = await poll(() => offsetsOf(connection, prefix)).until((offsets) => offsets.committed !== 0)
    expect([committed, await lagOf(connection, prefix)]).toEqual([RENDERS, 0])
  })

  test('stays while a renderer has no room, and is brought up when it fetches again', async ({ signal }) => {
    await using connection = await kafka.connect()
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    const topic = topicIn(prefix)
    // Each fills the buffer alone.
    const long = { key: 'a', value: Buffer.alloc(KAFKA_BUFFERED_BYTES_MAX) }
    for (let count = 0; count < RENDERS; count++) await connection.send(topic, [long], signal)
    const arrival = openNotifier()
    const settings = { group: topic, topics: [topic], onRecords: () => arrival.notify() }
    await using consumer = await openConsumer(connection, settings, signal)
    await arrival.wait(signal)
    expect(await lagOf(connection, prefix)).toBe(RENDERS)
    const admin = await connection.admin()
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(RENDERS) }] })
    consumer.poll(topic)?.done()
    const offsets = new Set<number | undefined>()
    const see = async () => {
      const { committed } = await offsetsOf(connection, prefix)
      offsets.add(committed)
      return committed
    }
    // -2, the number of kafkajs for the first offset, would read as a larger lag than there ever was.
    await poll(see).until((offset) => offset === RENDERS || offset === -2)
    expect(offsets).not.toContain(-2)
    expect(await lagOf(connection, prefix)).toBe(0)
  })
})

describeOnOwnKafka(
  'a broker that keeps the offsets of a group without members for a minute',
  (kafka) => {
    const patient = { timeout: 4 * KEPT_MS }
    test.runIf(IS_LONG)(
      'forgets those that the service does not keep, and KEDA takes the log for waiting',
      patient,
      async ({ signal }) => {
        await using connection = await kafka.connect()
        const { prefix: left } = await aLineThatWasRead(kafka, signal)
        const { prefix: kept } = await aLineThatWasRead(kafka, signal)
        expect([await lagOf(connection, left), await lagOf(connection, kept)]).toEqual([0, 0])
        // Scales the interval: the test uses a minute instead of a week.
        const sleep: KafkaConnection['clock']['sleep'] = (ms, waiting) =>
          connection.clock.sleep((ms / WEEK_MS) * KEPT_MS, waiting)
        {
          await using _ = keepOffsets({ ...connection, clock: { ...connection.clock, sleep } }, { prefix: kept })
          while ((await offsetsOf(connection, left)).committed !== undefined) await connection.clock.sleep(500, signal)
        }
        expect([await lagOf(connection, left), await lagOf(connection, kept)]).toEqual([RENDERS, 0])
        // An offset that was forgotten anyway is set to the first record.
        await renew(connection, left, signal)
        expect((await offsetsOf(connection, left)).committed).toBe(0)
      },
    )
  },
  { offsetsKeptMinutes: KEPT_MS / 60_000 },
)

const topicIn = (prefix: string) => `${prefix}render.html.bulk`

const renew = (connection: KafkaConnection, prefix: string, signal: AbortSignal) =>
  renewOffsets(connection, { group: topicIn(prefix), topics: [topicIn(prefix)] }, signal)

/** Creates an installation whose topic had renders, all of which were processed. */
async function aLineThatWasRead(kafka: KafkaFixture, signal: AbortSignal) {
  await using connection = await kafka.connect()
  const settings = await kafka.topics('queue', { partitions: ONE_PARTITION })
  await using queue = kafkaRenderQueue(connection, settings)
  for (let count = 0; count < RENDERS; count++)
    await queue.enqueue(aRecord({ engine: 'html', mode: 'async', lane: 'bulk' }), signal)
  await using consumer = await queue.consume('html', signal)
  for (let read = 0; read < RENDERS; ) {
    const arrived = consumer.waitForRecord(signal)
    const delivery = consumer.poll('bulk')
    if (delivery === undefined) await arrived
    else {
      await delivery.done(signal)
      read++
    }
  }
  return settings
}

const MARK = 'of the test'

/** Commits the same offset again, with metadata that commits of the service do not have. */
async function mark(connection: KafkaConnection, topic: string): Promise<void> {
  const consumer = connection.client().consumer({ groupId: topic })
  const joined = Promise.withResolvers<void>()
  consumer.on(consumer.events.GROUP_JOIN, () => joined.resolve())
  try {
    await consumer.connect()
    await consumer.subscribe({ topics: [topic] })
    await consumer.run({ autoCommit: false, eachBatch: async () => undefined })
    await joined.promise
    await consumer.commitOffsets([{ topic, partition: 0, offset: String(RENDERS), metadata: MARK }])
  } finally {
    await consumer.disconnect()
  }
}

/** Offsets of the topic's only partition. */
async function offsetsOf(connection: KafkaConnection, prefix: string) {
  const [admin, topic] = [await connection.admin(), topicIn(prefix)]
  const [end] = await admin.fetchTopicOffsets(topic)
  const [group] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  const { offset, metadata } = group?.partitions[0] ?? {}
  // -1 means that no offset is committed. No other value is special.
  return { committed: offset === '-1' ? undefined : Number(offset), end: Number(end?.high), metadata }
}

const lagOf = async (connection: KafkaConnection, prefix: string) =>
  kafkaLag(triggerOf({ lagThreshold: '8', offsetResetPolicy: 'earliest', allowIdleConsumers: 'true' }), [
    await offsetsOf(connection, prefix),
  ])
