/** Tests that processes on Kafka may join, leave and be killed at any time: no record is lost, and no process holds a record twice. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import type { QueuedRender, RenderConsumer } from '@platen/contract/port/render-queue.ts'
import { expect, test } from 'vitest'
import { aRecord } from '../fixture/build.ts'
import { describeOnKafka, type KafkaFixture } from './kafka-harness.ts'

const PARTITIONS = { sync: 1, async: 6, bulk: 1 }

describeOnKafka('renderers on Kafka', (kafka) => {
  test('that come and go under load lose nothing, and have nothing in two hands', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: PARTITIONS })
    await using connection = await kafka.connect()
    await using queue = kafkaRenderQueue(connection, { prefix })
    const records = some(1200)
    const left = new Set(records.map(({ id }): string => id))
    for (let i = 0; i < records.length; i += 100) {
      await Promise.all(records.slice(i, i + 100).map((record) => queue.enqueue(record, signal)))
    }
    const stays = work(kafka, { prefix, left, signal })
    // Each process works for a while and leaves. Many records wait each time.
    const others: Worked[] = []
    while (left.size > 0) others.push(await work(kafka, { prefix, left, signal, countMax: 30 }))
    const worked = [await stays, ...others]
    expect(others.length).toBeGreaterThan(1)
    expect(left.size).toBe(0)
    expect(worked.flatMap(({ twice }) => twice)).toStrictEqual([])
  })

  test('keep what they have in hand over a rebalance, and what they do then is done', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: PARTITIONS })
    await using connection = await kafka.connect()
    const records = some(24)
    {
      await using queue = kafkaRenderQueue(connection, { prefix })
      const consumer = await queue.consume('react_pdf', signal)
      for (const record of records) await queue.enqueue(record, signal)
      const inHand = await take(consumer, 20, signal)
      {
        // Gets half of the partitions, and leaves without processing anything.
        await using other = await kafka.connect()
        await using passing = kafkaRenderQueue(other, { prefix })
        await passing.consume('react_pdf', signal)
      }
      const more = some(6)
      for (const record of more) await queue.enqueue(record, signal)
      const rest = await take(consumer, 10, signal)
      const given = [...inHand, ...rest].map(({ record }) => record.id)
      expect(new Set(given)).toStrictEqual(new Set([...records, ...more].map(({ id }) => id)))
      expect(given).toHaveLength(30)
      for (const delivery of [...rest, ...inHand]) await delivery.done(signal)
      expect(consumer.poll('async')).toBeUndefined()
      // Nobody can commit during a rebalance, not even a member that leaves.
      while ((await openIn(connection, `${prefix}render.react_pdf.async`)) > 0) signal.throwIfAborted()
    }
    expect(await openIn(connection, `${prefix}render.react_pdf.async`)).toBe(0)
  })

  test('take over what one had in hand that was killed', async ({ signal }) => {
    const { prefix } = await kafka.topics('queue', { partitions: PARTITIONS })
    await using connection = await kafka.connect()
    await using queue = kafkaRenderQueue(connection, { prefix })
    const record = aRecord()
    await queue.enqueue(record, signal)
    const child = spawn(process.execPath, ['--input-type=module', '--eval', victim(kafka.broker(), prefix)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    const [taken] = await Promise.race([once(createInterface(child.stdout), 'line'), exited])
    expect(taken).toBe(record.id)
    // Killed before anyone else joins, so only its silence can cause the rebalance.
    child.kill('SIGKILL')
    await exited
    const consumer = await queue.consume('react_pdf', signal)
    const [delivery] = await take(consumer, 1, signal)
    expect(delivery?.record).toStrictEqual(record)
  })
})

interface Work {
  readonly prefix: string
  /** Ids of records that no process has finished yet. */
  readonly left: Set<string>
  readonly countMax?: number
  readonly signal: AbortSignal
}

interface Worked {
  /** Records that were delivered while this process held them or had finished them. */
  readonly twice: readonly string[]
}

/** A process of renderers: three slots each take a record, keep it for a moment, and report it as done. */
async function work(kafka: KafkaFixture, { prefix, left, countMax, signal }: Work): Promise<Worked> {
  await using connection = await kafka.connect()
  await using queue = kafkaRenderQueue(connection, { prefix })
  await using consumer = await queue.consume('react_pdf', signal)
  const known = new Set<string>()
  const twice: string[] = []
  const ended = new AbortController()
  const either = AbortSignal.any([signal, ended.signal])
  const isOver = () => left.size === 0 || known.size >= (countMax ?? Number.POSITIVE_INFINITY)
  const slot = async () => {
    while (!isOver()) {
      const delivery = consumer.poll('async')
      if (delivery === undefined) {
        await Promise.race([consumer.waitForRecord(either), connection.clock.sleep(50, either)]).catch(
          () => either.reason,
        )
        continue
      }
      const { id } = delivery.record
      if (known.has(id)) twice.push(id)
      known.add(id)
      await connection.clock.sleep(10, signal)
      await delivery.done(signal)
      left.delete(id)
    }
    ended.abort()
  }
  await Promise.all([slot(), slot(), slot()])
  return { twice }
}

/** Source of a process that takes a record, prints its id, and keeps it. */
function victim(broker: string, prefix: string): string {
  const adapter = (path: string) => JSON.stringify(join(import.meta.dirname, '../../adapters/src', path))
  return `
    import { connectKafka } from ${adapter('kafka/connect.ts')}
    import { kafkaRenderQueue } from ${adapter('kafka/render-queue.ts')}
    import { systemClock } from ${adapter('system/clock.ts')}
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const { signal } = new AbortController()
    const settings = { brokers: [${JSON.stringify(broker)}], clientId: 'victim' }
    const connection = await connectKafka(settings, { clock: systemClock(), log }, signal)
    const consumer = await kafkaRenderQueue(connection, { prefix: ${JSON.stringify(prefix)} }).consume('react_pdf', signal)
    for (;;) {
      const delivery = consumer.poll('async')
      if (delivery !== undefined) console.log(delivery.record.id)
      await consumer.waitForRecord(signal)
    }`
}

function some(count: number): RenderRecord[] {
  return Array.from({ length: count }, () => aRecord())
}

async function take(consumer: RenderConsumer, count: number, signal: AbortSignal): Promise<QueuedRender[]> {
  const taken: QueuedRender[] = []
  while (taken.length < count) {
    const delivery = consumer.poll('async')
    if (delivery === undefined) await consumer.waitForRecord(signal)
    else taken.push(delivery)
  }
  return taken
}

/** Counts the records after the committed offsets. */
async function openIn(connection: KafkaConnection, topic: string): Promise<number> {
  const admin = await connection.admin()
  const [committed] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  const ends = await admin.fetchTopicOffsets(topic)
  const offsetOf = (partition: number) => committed?.partitions.find((each) => each.partition === partition)?.offset
  return ends.reduce((sum, { partition, high }) => sum + Number(high) - Number(offsetOf(partition)), 0)
}
