/**
 * Tests consumers that run while Kafka loses records: it comes back as an older copy, or empty, or somebody deletes a topic. Its offsets
 * then name other records than before. What is accepted from then on must be delivered.
 */
import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { prepareTopics, renderTopics } from '@platen/adapters/kafka/topic.ts'
import type { RenderConsumer } from '@platen/contract/port/render-queue.ts'
import { describe, expect, test } from 'vitest'
import { aRecord } from '../fixture/build.ts'
import { shared } from '../fixture/lifetime.ts'
import { startProxiedKafka } from '../topology/proxy/kafka.ts'
import { hasServer } from '../topology/server/binary.ts'
import type { KafkaServer } from '../topology/server/kafka.ts'
import { connectTo, ONE_PARTITION } from './kafka-harness.ts'
import { take } from './kafka-record.ts'

const run = promisify(execFile)

/** On a busy machine a broker takes longer to start than tests of other ports allow. */
const PATIENT = { timeout: 240_000 }
const BEFORE_COPY = 5
const AFTER_COPY = 5
/** More than was lost: the log is longer than before when the consumer sees it again. */
const ACCEPTED = 15

describe.skipIf(!hasServer('kafka'))('a Kafka that loses records', () => {
  const server = shared(startProxiedKafka)

  test.for([
    { name: 'comes back as an older copy', data: 'copy' },
    { name: 'comes back empty', data: 'nothing' },
  ] as const)(
    'and $name is read from the right place by a consumer that ran meanwhile',
    PATIENT,
    async ({ data }, { signal }) => {
      const kafka = server()
      const { proxy } = kafka
      const settings = { prefix: `${data}.`, partitions: ONE_PARTITION }
      const prepare = async () => {
        await using direct = await connectTo({ broker: kafka.unsecured })
        await prepareTopics(direct, renderTopics(settings, []), { settings, signal })
      }
      await prepare()
      await using connection = await connectTo(kafka)
      await using queue = kafkaRenderQueue(connection, settings)
      const consumer = await queue.consume('react_pdf', signal)
      await takeAll(consumer, { ids: await enqueue(kafka, { settings, count: BEFORE_COPY, signal }), signal })
      await untilCommitted(connection, { settings, offset: BEFORE_COPY, signal })
      kafka.pause()
      await run('cp', ['--archive', join(kafka.folder, 'log'), join(kafka.folder, 'copy')])
      kafka.resume()
      await takeAll(consumer, { ids: await enqueue(kafka, { settings, count: AFTER_COPY, signal }), signal })
      // It is still in hand when the log is another one, and must not be taken for the record there that has its offset.
      const [held] = await enqueue(kafka, { settings, count: 1, signal })
      const inHand = await take(consumer, signal)
      expect(inHand.record.id).toBe(held)

      proxy.towards(0)
      proxy.reset()
      await kafka.kill()
      await comeBackWith(kafka, data)
      await kafka.start()
      await prepare()
      const accepted = await enqueue(kafka, { settings, count: ACCEPTED, signal })
      proxy.towards(kafka.proxied[0] ?? 0)

      const given = new Set<string>()
      const open = []
      while (given.size < ACCEPTED) {
        const delivery = await take(consumer, signal)
        given.add(delivery.record.id)
        open.push(delivery)
      }
      expect([...given]).toStrictEqual(accepted)
      await inHand.done(signal)
      for (const delivery of open) await delivery.done(signal)
      const end = (data === 'copy' ? BEFORE_COPY : 0) + ACCEPTED
      await untilCommitted(connection, { settings, offset: end, signal })
    },
  )
})

/** The identity of a Kafka node, which a new disk gets again. */
const IDENTITY = 'meta.properties'

async function comeBackWith({ folder }: KafkaServer, data: 'copy' | 'nothing'): Promise<void> {
  const [log, copy] = [join(folder, 'log'), join(folder, 'copy')]
  for (const name of await readdir(log)) if (name !== IDENTITY) await rm(join(log, name), { recursive: true })
  if (data === 'copy') await run('cp', ['--archive', `${copy}/.`, log])
  await rm(copy, { recursive: true })
}

interface Topic {
  readonly settings: { readonly prefix: string }
  readonly signal: AbortSignal
}

/** Returns the ids of the renders, which are accepted in this order. */
async function enqueue(
  kafka: KafkaServer,
  { settings, count, signal }: Topic & { readonly count: number },
): Promise<string[]> {
  await using connection = await connectTo({ broker: kafka.unsecured })
  await using queue = kafkaRenderQueue(connection, settings)
  const records = Array.from({ length: count }, () => aRecord())
  for (const record of records) await queue.enqueue(record, signal)
  return records.map(({ id }) => id)
}

/** Takes these renders, in this order, and finishes them. */
async function takeAll(
  consumer: RenderConsumer,
  { ids, signal }: { readonly ids: readonly string[]; readonly signal: AbortSignal },
): Promise<void> {
  for (const id of ids) {
    const delivery = await take(consumer, signal)
    expect(delivery.record.id).toBe(id)
    await delivery.done(signal)
  }
}

async function untilCommitted(
  connection: KafkaConnection,
  { settings, offset, signal }: Topic & { readonly offset: number },
): Promise<void> {
  const topic = `${settings.prefix}render.react_pdf.async`
  const admin = await connection.admin()
  for (;;) {
    signal.throwIfAborted()
    const [committed] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
    if (committed?.partitions[0]?.offset === String(offset)) return
  }
}
