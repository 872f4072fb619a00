/** A batch whose processes die: what the API accepted and did not queue is queued by others, and its end is told once, whoever was there. */

import type { BatchRecord } from '@platen/contract/schema/batch-request.ts'
import { OPEN_BATCH_PREFIX } from '@platen/contract/stored/batch.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'
import { SERVICE_BUCKET } from '../topology/cluster/cluster.ts'
import { openClusterStores } from '../topology/cluster/store.ts'
import type { TestCluster } from '../topology/cluster/test-cluster.ts'
import { type ProxiedKafka, startProxiedKafka } from '../topology/proxy/kafka.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import { request } from '../topology/service.ts'
import { aCluster, aTenant, eventsIn, manifestsIn } from './harness.ts'

const LIVE = `service_live_${'B'.repeat(43)}`
const COUNT = 60

let kafka: ProxiedKafka
let cluster: TestCluster
beforeAll(async () => {
  kafka = await startProxiedKafka()
  cluster = await aCluster({
    kafka: { broker: kafka.broker },
    settings: LOOPBACK_ALLOWED,
    documents: aTenant('acme', LIVE, { renderTimeoutSeconds: 120 }),
  })
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await kafka[Symbol.asyncDispose]()
})

const ask = async <Body>(path: string) => {
  const answer = await request(cluster.at(0), { key: LIVE, path: `/api/v1/${path}` })
  return answer.json() as unknown as Body
}
const batchOf = (id: string) => ask<BatchRecord>(`batches/${id}`)

test('ends each of its renders once, and is told of once, though API and events are killed', async ({ signal }) => {
  const receiver = ofTest(await aReceiver())
  await using stores = await openClusterStores(cluster, signal)
  const open = () => Array.fromAsync(stores.artifacts.list(SERVICE_BUCKET, OPEN_BATCH_PREFIX, signal))
  const accepted = () => Array.fromAsync(stores.artifacts.list(SERVICE_BUCKET, 'batch/of/', signal))
  const [[api], [events]] = [cluster.processes('api'), cluster.processes('events')]
  // Some of the time of a renderer, so that there is time to kill somebody.
  const items = Array.from({ length: COUNT }, () => ({ data: { rounds: 3e5 } }))
  const body = { template: 'letter', webhook_url: receiver.url, items }

  // The API accepts the batch in S3 and waits for Kafka. It dies there.
  kafka.pause()
  const unanswered = request(cluster.at(0), { key: LIVE, path: '/api/v1/batches', body }).catch(
    (error: unknown) => error,
  )
  await poll(accepted).until(({ length }) => length === 1)
  await api?.kill()
  await unanswered
  kafka.resume()
  await api?.start()
  const [sign] = await open()
  const id = sign?.key.slice(OPEN_BATCH_PREFIX.length) ?? ''

  // Another process queues it, and dies before the end.
  await poll(cluster.log).until((log) => log.includes('batch queued completely'))
  await poll(() => batchOf(id)).until(({ succeeded }) => succeeded > 0)
  await events?.kill()
  expect(await batchOf(id)).toMatchObject({ status: 'processing', total: COUNT })
  await poll(() => manifestsIn(cluster, signal)).until(({ length }) => length === COUNT)
  await events?.start()

  const ended = await poll(() => batchOf(id)).until(({ status }) => status === 'ended')
  expect(ended).toMatchObject({ total: COUNT, succeeded: COUNT, failed: 0 })
  await receiver.until(1)
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ batch_id: id, succeeded: COUNT, failed: 0 })
  expect(await poll(open).until(({ length }) => length === 0)).toEqual([])

  const told = await eventsIn(cluster, COUNT, signal)
  expect(new Set(told.map(({ id: event }) => event)).size).toBe(COUNT)
  await poll(() => ask<{ used: number; reserved: number }>('usage')).until(({ used }) => used >= COUNT)
  expect(await ask('usage')).toMatchObject({ used: COUNT, reserved: 0 })
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})
