/**
 * The composition root of an events process. It reads events from Kafka, calls receivers, removes expired data from the stores, and
 * writes views to Redis.
 */

import { randomUUID } from 'node:crypto'
import { fallbackRenderLedger } from '@platen/adapters/fallback/render-ledger.ts'
import { webhookSender } from '@platen/adapters/http/webhook-sender.ts'
import { type KafkaDeliveryLog, openKafkaDeliveryLog } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { WEBHOOK_WAITS } from '@platen/adapters/kafka/delivery/topic.ts'
import { type KafkaEventLog, kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { watchBacklog } from '@platen/adapters/kafka/partition/backlog.ts'
import { keepOffsets } from '@platen/adapters/kafka/partition/offset-keeper.ts'
import { kafkaRenderQueue } from '@platen/adapters/kafka/render-queue.ts'
import { gaugeBacklog } from '@platen/adapters/prometheus/event/backlog.ts'
import { projectionMeter } from '@platen/adapters/prometheus/event/projection.ts'
import { retentionMeter } from '@platen/adapters/prometheus/event/retention.ts'
import { gaugeSealedSecrets, webhookMeter } from '@platen/adapters/prometheus/event/webhook.ts'
import { redisCheckpoints } from '@platen/adapters/redis/checkpoint.ts'
import { openSealKeyReporter } from '@platen/adapters/redis/directory/seal-key-report.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { redisDeliveryList } from '@platen/adapters/redis/render-list/delivery-list.ts'
import { LIST_CHECKPOINT_KEY, redisRenderList } from '@platen/adapters/redis/render-list.ts'
import { WEBHOOK_RETRY_MS } from '@platen/contract/domain/limit.ts'
import { beginWithSettings, type DataPlane, EVENT_READERS, openDataPlane } from '@platen/process/data-plane.ts'
import { type Process, runProcess, serveUntilStopped } from '@platen/process/process.ts'
import { PROJECTION_CALL_MS_MAX } from './charge/limit.ts'
import { type Config, SETTINGS } from './config.ts'
import {
  type Batches,
  openBatches,
  openListProjection,
  openProjection,
  openRetention,
  openWebhooks,
  type Running,
  type Webhooks,
} from './service.ts'

if (import.meta.main) await runProcess({ deployable: 'events', settings: SETTINGS, variables: process.env }, serve)

/** Delivers until the process is stopped. Then the running calls end and are recorded. */
async function serve(own: Process<Config>): Promise<void> {
  const { policy } = own.config.webhooks
  const receiversCa = () => own.latest().webhooks.ca
  const base = await openDataPlane(own, { receiversCa })
  const { config, clock, kafka, topics, directory, metrics, serviceBucket, starting, stack } = base
  const meter = webhookMeter(metrics)
  const events = kafkaEventLog(kafka, { ...topics, deadLettered: () => meter.deadLettered('event') })
  const deliveries = stack.use(
    await openKafkaDeliveryLog(
      { ...base, connection: kafka, list: redisDeliveryList(base.redis) },
      { ...topics, bucket: serviceBucket, deadLettered: () => meter.deadLettered('delivery') },
      starting,
    ),
  )
  const batches = openBatchesOf(base, deliveries)
  const webhooks = stack.use(
    openWebhooks({
      ports: {
        ...base,
        onEvent: batches.onEvent,
        events,
        deliveries,
        sender: stack.use(webhookSender({ clock, policy, ca: receiversCa })),
        meter,
      },
      settings: { brand: config.brand, retriesMax: WEBHOOK_RETRY_MS.length },
      sealKeys: () => own.latest().sealKeys,
    }),
  )
  showSealKeys(base, webhooks)
  void beginWithSettings(base, () => webhooks.begin())
  const views = await openViews(base, { events, deliveries })
  const backlog = stack.use(watchBacklog(kafka, { ...topics, readers: EVENT_READERS, deliveries: WEBHOOK_WAITS }))
  gaugeBacklog(metrics, () => backlog.last())
  stack.use(keepOffsets(kafka, topics))
  const parts = [webhooks, batches, ...views, events, deliveries]
  await serveUntilStopped(base, {
    isReady() {
      const canSign = webhooks.canSign()
      return { ready: directory.state().isReady && canSign, detail: { directory: directory.state(), canSign } }
    },
    isAlive: () => parts.every((part) => part.isAlive()),
  })
}

/** The batches queue renders as an API process does. */
function openBatchesOf(base: DataPlane<Config>, deliveries: KafkaDeliveryLog): Batches {
  const { redis, kafka, topics, stack } = base
  return stack.use(
    openBatches({
      ...base,
      deliveries,
      queue: stack.use(kafkaRenderQueue(kafka, topics)),
      limiter: redisLimiter(redis),
      ledger: fallbackRenderLedger(redisRenderLedger(redis), { ...base, list: redisRenderList(redis) }),
      retriesMax: WEBHOOK_RETRY_MS.length,
    }),
  )
}

async function openViews(
  base: DataPlane<Config>,
  logs: { readonly events: KafkaEventLog; readonly deliveries: KafkaDeliveryLog },
): Promise<readonly Running[]> {
  const { redis, metrics, clock, stack, starting } = base
  // On their own connection: their many calls delay no others, and are sent at once.
  const projected = stack.use(await redis.duplicate(PROJECTION_CALL_MS_MAX, starting))
  const lists = { list: redisRenderList(redis), deliveryList: redisDeliveryList(redis) }
  const ledger = redisRenderLedger(redis)
  const retention = openRetention({ ...base, ...logs, ...lists, ledger, meter: retentionMeter(metrics, clock) })
  const projection = openProjection({
    ...base,
    ...logs,
    checkpoints: redisCheckpoints(projected),
    limiter: redisLimiter(projected),
    ledger: redisRenderLedger(projected),
    meter: projectionMeter(metrics),
  })
  const checkpoints = redisCheckpoints(redis, LIST_CHECKPOINT_KEY)
  const listing = openListProjection({ ...base, ...logs, ...lists, checkpoints })
  return [retention, projection, listing].map((view) => stack.use(view))
}

/** Measures which keys sealed the published secrets, and tells the operator which keys this process has. */
function showSealKeys(base: DataPlane<Config>, { sealedWith }: Webhooks): void {
  const { metrics, stack, latest } = base
  gaugeSealedSecrets(metrics, sealedWith)
  stack.use(openSealKeyReporter({ ...base, reader: randomUUID(), sealKeys: () => latest().sealKeys }))
}
