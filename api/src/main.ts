/**
 * The composition root of an API process. It takes HTTP requests and sends renders to Kafka. Redis holds rates, status and replies. S3
 * holds inputs and PDFs.
 */
import { randomUUID } from 'node:crypto'
import { countedLimiter } from '@platen/adapters/fallback/counted-limiter.ts'
import { fallbackLimiter } from '@platen/adapters/fallback/limiter.ts'
import { fallbackRenderLedger } from '@platen/adapters/fallback/render-ledger.ts'
import { kafkaDeliveryReader } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { apiMeter } from '@platen/adapters/prometheus/api.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { openRedisRenderEnds } from '@platen/adapters/redis/render-ledger/render-ends.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { redisDeliveryList } from '@platen/adapters/redis/render-list/delivery-list.ts'
import { redisRenderList } from '@platen/adapters/redis/render-list.ts'
import { openRedisReplyChannel } from '@platen/adapters/redis/reply-channel.ts'
import { REPLY_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import { openDataPlane } from '@platen/process/data-plane.ts'
import { type Process, runProcess, serveUntilStopped } from '@platen/process/process.ts'
import { buildApp } from './app.ts'
import { openBodyChecks } from './body/check/body-checks.ts'
import { type Config, SETTINGS } from './config.ts'

if (import.meta.main) await runProcess({ deployable: 'api', settings: SETTINGS, variables: process.env }, serve)

/** Serves until the process is stopped. Then it takes no new requests, and answers the running ones. */
async function serve(own: Process<Config>): Promise<void> {
  const base = await openDataPlane(own, { reader: randomUUID() })
  const { config, clock, redis, kafka, topics, directory, metrics, serviceBucket, starting, stack } = base
  // Whole PDFs pass through it. On the limiter's connection, every request would wait behind them.
  const replyRedis = stack.use(await redis.duplicate(REPLY_CALL_MS_MAX, starting))
  const health = {
    isReady: () => ({
      ready: directory.state().isReady,
      detail: { directory: directory.state(), apis: directory.readers() },
    }),
    // Always alive: the process waits for unavailable services or works without them. A new process would not find them either.
    isAlive: () => true,
  }
  const list = redisRenderList(redis)
  const meter = apiMeter(metrics, { directory: () => directory.state() })
  const app = buildApp({
    ...base,
    ...health,
    limiter: fallbackLimiter({
      ...base,
      limiter: countedLimiter(redisLimiter(redis), meter),
      replicas: () => directory.readers(),
    }),
    ledger: fallbackRenderLedger(redisRenderLedger(redis), { ...base, list }),
    ends: stack.use(await openRedisRenderEnds(redis, starting)),
    list,
    deliveryList: redisDeliveryList(redis),
    replies: stack.use(await openRedisReplyChannel(replyRedis, starting)),
    queue: stack.use(kafkaRenderQueue(kafka, topics)),
    deliveries: kafkaDeliveryReader({ ...base, connection: kafka }, { ...topics, bucket: serviceBucket }),
    checks: stack.use(openBodyChecks(clock)),
    keys: () => own.latest().idKeys,
    meter,
    engineStatus: (engine) => (config.engines.includes(engine) ? 'available' : 'missing'),
    settings: {
      brand: config.brand,
      serviceBucket,
      webhooks: config.webhooks,
      traffic: config.traffic,
    },
  })
  stack.defer(() => app.close())
  const url = await app.listen({ host: config.host, port: config.port })
  await serveUntilStopped(base, health, { url })
}
