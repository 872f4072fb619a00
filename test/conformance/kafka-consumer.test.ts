/** What a member of a consumer group promises on a real Kafka, beyond the ports that are made of it. */

import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { type ConsumedRecord, type GroupConsumer, openConsumer } from '@platen/adapters/kafka/consumer.ts'
import { type Bell, bell } from '@platen/contract/bell.ts'
import { expect, test } from 'vitest'
import { describeOnKafka, ONE_PARTITION } from './kafka-harness.ts'

describeOnKafka('a consumer on Kafka', (kafka) => {
  test('is given what was sent, as it was sent', async ({ signal }) => {
    const topic = lineOf(await kafka.topics())
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
    const [first, second] = taken.toSorted((a, b) => Number(b.key?.length) - Number(a.key?.length))
    expect([first?.key?.toString(), first?.value?.toString()]).toStrictEqual(['ключ', 'Zażółć'])
    expect(first?.headers).toStrictEqual({ v: Buffer.from('1'), bytes: Buffer.from([0, 255]) })
    expect([second?.key, second?.value]).toStrictEqual([null, null])
  })

  test('commits what is done from the first on, and is given the rest again', async ({ signal }) => {
    const topic = lineOf(await kafka.topics({ partitions: ONE_PARTITION }))
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
    const topic = lineOf(await kafka.topics({ partitions: ONE_PARTITION }))
    await using connection = await kafka.connect()
    await using member = await join(connection, topic, signal)
    await sendMany(connection, topic, { count: 1, signal })
    for (const record of await take(member, { count: 1, signal })) record.done()
    // The test's own time limit ends this where nothing is ever committed.
    while ((await committedIn(connection, topic))[0] !== '1') signal.throwIfAborted()
  })

  test('holds a little of a long partition, and all of it comes in the end', async ({ signal }) => {
    const topic = lineOf(await kafka.topics({ partitions: ONE_PARTITION }))
    await using connection = await kafka.connect()
    const value = 'x'.repeat(10_000)
    const records = Array.from({ length: 200 }, (_, i) => ({ key: `${i}`, value }))
    for (let i = 0; i < 200; i += 20) await connection.send(topic, records.slice(i, i + 20), signal)
    await using member = await join(connection, topic, signal)
    const taken = await take(member, { count: 200, signal })
    expect(taken.map(({ offset }) => offset)).toStrictEqual(records.map((_, i) => i))
  })
})

interface Joined extends AsyncDisposable {
  readonly consumer: GroupConsumer
  readonly topic: string
  readonly bell: Bell
}

async function join(connection: KafkaConnection, topic: string, signal: AbortSignal): Promise<Joined> {
  const own = bell()
  const consumer = await openConsumer(connection, { group: topic, topics: [topic], arrived: () => own.ring() }, signal)
  return { consumer, topic, bell: own, [Symbol.asyncDispose]: () => consumer[Symbol.asyncDispose]() }
}

async function take(
  { consumer, topic, bell }: Joined,
  { count, signal }: { count: number; signal: AbortSignal },
): Promise<ConsumedRecord[]> {
  const taken: ConsumedRecord[] = []
  while (taken.length < count) {
    const record = consumer.poll(topic)
    if (record === undefined) await bell.rung(signal)
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
