/** Records on Kafka, as tests take, read and count them. */
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import type { StoredRecord } from '@platen/adapters/kafka/partition/partition.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { QueuedRender, RenderConsumer } from '@platen/contract/port/render-queue.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'

export async function take(consumer: RenderConsumer, signal: AbortSignal): Promise<QueuedRender> {
  for (;;) {
    const delivery = consumer.poll('async')
    if (delivery !== undefined) return delivery
    await consumer.waitForRecord(signal)
  }
}

/** Sends until Kafka takes it, as callers do that must not give up. */
export async function untilTaken(send: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      // While Kafka is known to be down, sends fail at once. Without this wait, the loop would block the messages from the broker.
      await systemClock().sleep(50, signal)
    }
  }
}

export async function firstIn(connection: KafkaConnection, topic: string, signal: AbortSignal): Promise<StoredRecord> {
  const [record] = await manyIn(connection, { topic, count: 1 }, signal)
  if (record === undefined) throw new Error('there is one')
  return record
}

/** Waits until a topic has so many records, and returns them. */
async function manyIn(
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
