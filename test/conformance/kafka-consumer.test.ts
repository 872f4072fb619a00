/** Tests promises of a consumer group member on a real Kafka, beyond the ports that use it. */
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import type { ConsumedRecord, GroupConsumer } from '@platen/adapters/kafka/consumer/group-consumer.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'
import { expect, onTestFinished, test, vi } from 'vitest'
import { poll } from '../time/poll.ts'
import { describeOnKafka, ONE_PARTITION } from './kafka-harness.ts'

const HOUR_MS = 3_600_000

describeOnKafka('a consumer on Kafka', (kafka) => {
  test('is given what was sent, as it was sent', async ({ signal }) => {
    const topic = lineOf(await kafka.topics('queue'))
    await using connection = await kafka.connect()
    await using member = await join(connection, topic, signal)
    const headers = { v: '1', bytes: Buffer.from([0, 255]) }
    await connection.send(
      topic,
      [
        { key: 'ключ', value: 'Zażółć', headers },
        { key: null, value: null },
      ],
      signal,
    )
    const taken = await take(member, { count: 2, signal })
    const first = taken.find(({ key }) => key !== null)
    const second = taken.find(({ key }) => key === null)
    expect([first?.key?.toString(), first?.value?.toString()]).toStrictEqual(['ключ', 'Zażółć'])
    expect(first?.headers).toStrictEqual({ v: Buffer.from('1'), bytes: Buffer.from([0, 255]) })
    expect([second?.key, second?.value]).toStrictEqual([null, null])
  })

  test('commits what is done from the first on, and is given the rest again', async ({ signal }) => {
    const topic = lineOf(await kafka.topics('queue', { partitions: ONE_PARTITION }))
    await using connection = await kafka.connect()
    await sendMany(connection, topic, { count: 5, signal })
    const member = await join(connection, topic, signal)
    const taken = await take(member, { count: 4, signal })
    for (const at of [0, 1, 3]) taken[at]?.done()
    await member.consumer.commit(signal)
    expect(member.consumer.lag()).toStrictEqual([{ topic, partition: 0, records: 3 }])
    await member.consumer[Symbol.asyncDispose]()
    expect(await committedIn(connection, topic)).toStrictEqual(['2'])
    await using again = await join(connection, topic, signal)
    const rest = await take(again, { count: 3, signal })
    expect(rest.map(({ offset }) => offset)).toStrictEqual([2, 3, 4])
  })

  test('commits by itself after a while', async ({ signal }) => {
    const topic = lineOf(await kafka.topics('queue', { partitions: ONE_PARTITION }))
    await using connection = await kafka.connect()
    await using member = await join(connection, topic, signal)
    await sendMany(connection, topic, { count: 1, signal })
    for (const record of await take(member, { count: 1, signal })) record.done()
    // If nothing is ever committed, the time limit of the test ends this loop.
    while ((await committedIn(connection, topic))[0] !== '1') signal.throwIfAborted()
  })

  test('joins its group again when the clock was set back by an hour, as its next heartbeat would come then', async ({
    signal,
  }) => {
    const topic = lineOf(await kafka.topics('queue', { partitions: ONE_PARTITION }))
    await using connection = await kafka.connect()
    await using member = await join(connection, topic, signal)
    const admin = await connection.admin()
    const idsNow = async () =>
      (await admin.describeGroups([topic])).groups.flatMap(({ members }) => members.map(({ memberId }) => memberId))
    const before = await idsNow()
    const now = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => now() - HOUR_MS)
    onTestFinished(() => void vi.restoreAllMocks())
    const after = await poll(idsNow).until((ids) => ids.length === 1 && ids[0] !== before[0])
    expect([before.length, after.length]).toEqual([1, 1])
    await sendMany(connection, topic, { count: 1, signal })
    for (const record of await take(member, { count: 1, signal })) record.done()
    await poll(() => committedIn(connection, topic)).until(([offset]) => offset === '1')
    expect(await idsNow()).toEqual(after)
  })

  test('stops fetching a partition with a full buffer, and fetches all of it in the end', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: ONE_PARTITION })
    const [long, short] = [`${prefix}render.html.bulk`, `${prefix}render.html.sync`]
    await using connection = await kafka.connect()
    await sendLong(connection, long, signal)
    const own = openNotifier()
    const settings = { group: `${prefix}both`, topics: [long, short], onRecords: () => own.notify() }
    await using consumer = await openConsumer(connection, settings, signal)
    // Records on the other topic that arrive meanwhile show how often it has fetched.
    for (let round = 0; round < 10; round++) {
      await sendMany(connection, short, { count: 1, signal })
      await take({ consumer, topic: short, bell: own }, { count: 1, signal })
    }
    const atHand: ConsumedRecord[] = []
    for (let record = consumer.poll(long); record !== undefined; record = consumer.poll(long)) atHand.push(record)
    // At most two fetches, each of one sent batch.
    expect(atHand.length).toBeLessThanOrEqual(2 * LONG_BATCH)
    const rest = await take({ consumer, topic: long, bell: own }, { count: LONG - atHand.length, signal })
    expect([...atHand, ...rest].map(({ offset }) => offset)).toStrictEqual(Array.from({ length: LONG }, (_, i) => i))
  })

  test('is given all of a partition that was full when it went to another, and came back', async ({ signal }) => {
    const topic = lineOf(await kafka.topics('queue', { partitions: { ...ONE_PARTITION, sync: 2 } }))
    await using connection = await kafka.connect()
    await sendLong(connection, topic, signal)
    await using member = await join(connection, topic, signal)
    // Both partitions have records fetched when one of them is revoked.
    const isFetched = () => member.consumer.lag().every(({ records }) => records > 0)
    while (!isFetched()) await member.bell.wait(signal)
    const passing = await join(connection, topic, signal)
    await passing[Symbol.asyncDispose]()
    const offsets = new Set<string>()
    while (offsets.size < LONG) {
      const [record] = await take(member, { count: 1, signal })
      offsets.add(`${record?.partition}/${record?.offset}`)
    }
  })
})

/** Number of records of 10 kB, and how many are sent at once. */
const LONG = 200
const LONG_BATCH = 20

async function sendLong(connection: KafkaConnection, topic: string, signal: AbortSignal): Promise<void> {
  const value = 'x'.repeat(10_000)
  for (let i = 0; i < LONG; i += LONG_BATCH) {
    const records = Array.from({ length: LONG_BATCH }, (_, at) => ({ key: `${i + at}`, value }))
    await connection.send(topic, records, signal)
  }
}

interface Hand {
  readonly consumer: GroupConsumer
  readonly topic: string
  readonly bell: Notifier
}

type Joined = Hand & AsyncDisposable

async function join(connection: KafkaConnection, topic: string, signal: AbortSignal): Promise<Joined> {
  const own = openNotifier()
  const consumer = await openConsumer(
    connection,
    { group: topic, topics: [topic], onRecords: () => own.notify() },
    signal,
  )
  return { consumer, topic, bell: own, [Symbol.asyncDispose]: () => consumer[Symbol.asyncDispose]() }
}

async function take(
  { consumer, topic, bell }: Hand,
  { count, signal }: { count: number; signal: AbortSignal },
): Promise<ConsumedRecord[]> {
  const taken: ConsumedRecord[] = []
  while (taken.length < count) {
    const record = consumer.poll(topic)
    if (record === undefined) await bell.wait(signal)
    else taken.push(record)
  }
  return taken
}

async function sendMany(
  connection: KafkaConnection,
  topic: string,
  { count, signal }: { count: number; signal: AbortSignal },
): Promise<void> {
  for (let i = 0; i < count; i++) await connection.send(topic, [{ key: `${i}`, value: `${i}` }], signal)
}

async function committedIn(connection: KafkaConnection, topic: string): Promise<string[]> {
  const admin = await connection.admin()
  const [offsets] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  return (offsets?.partitions ?? []).map(({ offset }) => offset)
}

function lineOf({ prefix }: { prefix: string }): string {
  return `${prefix}render.html.sync`
}
