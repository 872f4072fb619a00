/** An outcome that was damaged in S3: it is reported where it is met, and holds up nothing else. */
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import type { ConsumedRecord } from '@platen/adapters/kafka/consumer/group-consumer.ts'
import { manifestKey } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { expect, test } from 'vitest'
import { shared } from '../../fixture/lifetime.ts'
import { poll } from '../../time/poll.ts'
import { SERVICE_BUCKET } from '../../topology/cluster/cluster.ts'
import { openClusterStores } from '../../topology/cluster/store.ts'
import { ended, request, submit } from '../../topology/service.ts'
import { aCluster, aTenant, connectTo, LETTER } from '../harness.ts'

const LIVE = `service_live_${'L'.repeat(43)}`

const cluster = shared(() => aCluster({ documents: aTenant('acme', LIVE, {}) }))

test('its GET is answered 500, its record is a dead letter when it comes again, and its partition goes on', async ({
  signal,
}) => {
  const service = cluster().at(0)
  // The id was issued by the API a moment ago.
  const id = (await submit(service, LIVE, LETTER)) as RenderId
  expect((await ended(service, LIVE, id)).status).toBe('succeeded')
  await damageManifest(id, signal)
  const answer = await request(service, { key: LIVE, path: `/api/v1/render/${id}` })
  expect([answer.status, answer.json()]).toMatchObject([500, { error: { code: 'INTERNAL_ERROR' } }])
  expect(cluster().log()).toContain('UnreadableManifest')

  await using connection = await connectTo(cluster().broker, signal)
  const topic = `${cluster().topicPrefix}render.react_pdf.async`
  const { key, value, headers } = await recordOf(id, { connection, topic }, signal)
  await connection.send(topic, [{ key, value, headers }], signal)
  const letter = await recordOf(id, { connection, topic: `${cluster().topicPrefix}render.dead` }, signal)
  expect(letter.value).toEqual(value)
  expect(letter.headers['platen-reason']?.toString()).toMatch(/^the manifest cannot be read: its \d+ bytes/)
  // Every record is done: the offsets of the group say so.
  const behind = await poll(() => behindIn(connection, topic)).until((count) => count === 0)
  expect(behind).toBe(0)
  const next = await submit(service, LIVE, LETTER)
  expect((await ended(service, LIVE, next)).status).toBe('succeeded')
  expect(
    cluster()
      .log()
      .match(/render outcome unreadable, dead-lettered|render not completed/g),
  ).toEqual(['render outcome unreadable, dead-lettered'])
})

async function damageManifest(id: RenderId, signal: AbortSignal): Promise<void> {
  await using stores = await openClusterStores(cluster(), signal)
  const address = { bucket: SERVICE_BUCKET, key: manifestKey(id) }
  const whole = (await stores.artifacts.get(address, signal)) ?? Buffer.alloc(0)
  await stores.artifacts.put(address, whole.subarray(0, whole.byteLength / 2), signal)
}

/** The first record of a render in a topic, once it is there. */
async function recordOf(
  id: RenderId,
  { connection, topic }: { readonly connection: KafkaConnection; readonly topic: string },
  signal: AbortSignal,
): Promise<ConsumedRecord> {
  const own = openNotifier()
  const settings = { group: `${topic}.test`, topics: [topic], onRecords: () => own.notify() }
  await using consumer = await openConsumer(connection, settings, signal)
  for (;;) {
    const record = consumer.poll(topic)
    if (record?.key?.toString() === id) return record
    if (record === undefined) await own.wait(signal)
  }
}

/** How many records of a topic its renderers have not acknowledged. */
async function behindIn(connection: KafkaConnection, topic: string): Promise<number> {
  const admin = await connection.admin()
  const there = await admin.fetchTopicOffsets(topic)
  const [group] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  const done = new Map(group?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  return there.reduce((sum, { partition, high }) => sum + Number(high) - (done.get(partition) ?? 0), 0)
}
