/**
 * The composition root of an events process. It reads events from Kafka, calls receivers, removes expired data from the stores, and
 * writes views to Redis.
 */
import { webhookSender } from '@platen/adapters/http/webhook-sender.ts'
import { openKafkaDeliveryLog } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { watchBacklog } from '@platen/adapters/kafka/partition/backlog.ts'
import { keepOffsets } from '@platen/adapters/kafka/partition/offset-keeper.ts'
import { projectionMeter } from '@platen/adapters/prometheus/projection.ts'
import { gaugeQueue } from '@platen/adapters/prometheus/queue.ts'
import { webhookMeter } from '@platen/adapters/prometheus/webhook.ts'
import { redisCheckpoints } from '@platen/adapters/redis/checkpoint.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { beginWithSettings, openDataPlane } from '@platen/process/data-plane.ts'
import { type Process, runProcess, serveUntilStopped } from '@platen/process/process.ts'
import { PROJECTION_READER } from './charge/projection.ts'
import { type Config, SETTINGS } from './config.ts'
import { openProjection, openRetention, openWebhooks } from './service.ts'

if (import.meta.main) await runProcess({ deployable: 'events', settings: SETTINGS, variables: process.env }, serve)

/** Delivers until the stop. Then the running calls end and are recorded. */
async function serve(own: Process<Config>): Promise<void> {
  const { policy, ca, retriesMax } = own.config.webhooks
  const base = await openDataPlane(own, { receiversCa: ca })
  const { config, clock, kafka, redis, topics, directory, metrics, serviceBucket, starting, stack } = base
  const meter = webhookMeter(metrics)
  const events = kafkaEventLog(kafka, { ...topics, deadLettered: () => meter.deadLettered('event') })
  const deliveries = stack.use(
    await openKafkaDeliveryLog(
      { ...base, connection: kafka },
      { ...topics, bucket: serviceBucket, deadLettered: () => meter.deadLettered('delivery') },
      starting,
    ),
  )
  const webhooks = stack.use(
    openWebhooks({
      ports: {
        ...base,
        events,
        deliveries,
        sender: stack.use(webhookSender({ clock, policy, ca })),
        meter,
      },
      settings: { brand: config.brand, retriesMax },
      sealKey: config.sealKey,
    }),
  )
  void beginWithSettings(base, () => webhooks.begin())
  const ledger = redisRenderLedger(redis)
  const retention = stack.use(openRetention({ ...base, events, deliveries, ledger }))
  const lag = () => events.lag(PROJECTION_READER).reduce((sum, { records }) => sum + records, 0)
  const projection = stack.use(
    openProjection({
      ...base,
      events,
      checkpoints: redisCheckpoints(redis),
      limiter: redisLimiter(redis),
      ledger,
      meter: projectionMeter(metrics, { lag }),
    }),
  )
  const backlog = stack.use(watchBacklog(kafka, topics))
  gaugeQueue(metrics, () => backlog.queues())
  stack.use(keepOffsets(kafka, topics))
  const parts = [webhooks, retention, projection, events, deliveries]
  await serveUntilStopped(base, {
    isReady() {
      const canSign = webhooks.canSign()
      return { ready: directory.state().isReady && canSign, detail: { directory: directory.state(), canSign } }
    },
    isAlive: () => parts.every((part) => part.isAlive()),
  })
}
