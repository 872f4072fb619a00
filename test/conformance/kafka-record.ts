/** Records on Kafka, as tests take, read and count them. */
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import type { StoredRecord } from '@platen/adapters/kafka/partition/partition.ts'
import { openNotifier } from '@platen/contract/notifier.ts'
import type { QueuedRender, RenderConsumer } from '@platen/contract/port/render-queue.ts'

export async function take(consumer: RenderConsumer, signal: AbortSignal): Promise<QueuedRender> {
  for (;;) {
    const delivery = consumer.poll('async')
    if (delivery !== undefined) return delivery
    await consumer.waitForRecord(signal)
  }
}

export async function firstIn(connection: KafkaConnection, topic: string, signal: AbortSignal): Promise<StoredRecord> {
  const [record] = await manyIn(connection, { topic, count: 1 }, signal)
  if (record === undefined) throw new Error('there is one')
  return record
}

/** Waits until a topic has so many records, and returns them. */
export async function manyIn(
  connection: KafkaConnection,
  { topic, count }: { readonly topic: string; readonly count: number },
  signal: AbortSignal,
): Promise<readonly StoredRecord[]> {
  const arrival = openNotifier()
  const settings = { group: `${topic}.people`, topics: [topic], onRecords: () => arrival.notify() }
  await using consumer = await openConsumer(connection, settings, signal)
  const records: StoredRecord[] = []
  while (records.length < count) {
    const record = consumer.poll(topic)
    if (record === undefined) await arrival.wait(signal)
    else records.push(record)
  }
  return records
}

export function textOf({ headers }: StoredRecord): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

export async function endOf(connection: KafkaConnection, topic: string): Promise<string | undefined> {
  const [partition] = await (await connection.admin()).fetchTopicOffsets(topic)
  return partition?.high
}

export async function committedIn(connection: KafkaConnection, topic: string): Promise<string | undefined> {
  const admin = await connection.admin()
  const [offsets] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  return offsets?.partitions[0]?.offset
}
