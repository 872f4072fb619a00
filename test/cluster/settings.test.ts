/** Processes that start before there are settings: to them every tenant looks like one that is no more, so they wait. */
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import { redisSettings } from '../topology/server/redis.ts'
import { ended, submit } from '../topology/service.ts'
import { aCluster, aTenant } from './harness.ts'

const LIVE = `service_live_${'L'.repeat(43)}`

const cluster = shared(() => aCluster({ documents: aTenant('acme', LIVE, {}), settings: LOOPBACK_ALLOWED }))

test('a delivery waits for the settings that events have not yet', async ({ signal }) => {
  await using receiver = await aReceiver()
  const service = cluster().at(0)
  const [events] = cluster().processes('events')
  const [publish] = cluster().processes('publish')
  await events?.stop()
  await publish?.stop()
  const id = await submit(service, LIVE, { template: 'letter', data: {}, webhook_url: `${receiver.url}/hook` })
  expect((await ended(service, LIVE, id)).status).toBe('succeeded')
  await using redis = await connectRedis(redisSettings(cluster().redis), signal)
  await redis.call((client) => client.flushall(), signal)
  const starting = events?.start()
  await poll(() => events?.log() ?? '').until((log) => log.includes('process started'))
  expect(receiver.received).toEqual([])
  await publish?.start()
  await starting
  await receiver.until(1)
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ status: 'succeeded' })
})
