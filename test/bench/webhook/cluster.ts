/** How many webhooks an events process of a cluster delivers, beside how many objects the same S3 creates. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startKafka } from '../../topology/server/kafka.ts'
import { redisSettings, startRedis } from '../../topology/server/redis.ts'
import { startS3 } from '../../topology/server/s3.ts'
import { contend } from '../child.ts'
import { type Figure, race } from '../measure.ts'
import type { Servers } from './logs.ts'
import type { Ports } from './receiver.ts'

export async function* clusterWebhooks(scale: number): AsyncGenerator<Figure> {
  await using kafka = await startKafka({ isMeasured: true })
  await using redis = await startRedis()
  await using s3 = await startS3()
  const { endpoint, region, credentials } = s3
  const { clock: _clock, ...location } = redisSettings(redis)
  const servers: Servers = { broker: kafka.broker, s3: { endpoint, region, credentials }, redis: location }
  const receiver = fork(new URL('receiver.ts', import.meta.url))
  const [{ good }] = (await once(receiver, 'message')) as [Ports]
  try {
    await using own = await contend('webhook/dispatcher.ts', ['cluster', `${good}`, JSON.stringify(servers)])
    await using raw = await contend('webhook/create.ts', [JSON.stringify(servers)])
    const batch = { rows: 0, concurrency: 32, count: Math.ceil(1000 * scale), rounds: 5 }
    const [ours, bare] = await race([own, raw], batch)
    const [mine, its] = [ours.documentsPerSecond, bare.documentsPerSecond]
    const detail = `${mine.toFixed(0)}/s, ${its.toFixed(0)}/s, CPU ${ours.cpuMsPerDocument.toFixed(1)} ms a delivery`
    yield {
      name: 'webhooks in a cluster: × creating one object each',
      detail,
      value: mine / its,
      target: { atLeast: 1 },
    }
  } finally {
    receiver.disconnect()
  }
}
