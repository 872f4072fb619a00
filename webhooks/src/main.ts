/** The composition root of a webhooks process: events from Kafka, calls to receivers, and what is past its time out of the stores. */

import { webhookSender } from '@platen/adapters/http/webhook-sender.ts'
import { openKafkaDeliveryLog } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { webhookMeter } from '@platen/adapters/prometheus/webhook.ts'
import { openProcess, settingsThere } from '@platen/adapters/system/process.ts'
import { runUntilStopped, untilAborted } from '@platen/adapters/system/run.ts'
import { readConfig, SETTINGS } from './config.ts'
import { openRetention, openWebhooks } from './service.ts'

if (import.meta.main) await runUntilStopped(serve)

/** Delivers until `stop` aborts; resolves when the calls in hand have ended and are recorded. */
async function serve(stop: AbortSignal): Promise<void> {
  const config = readConfig(process.env)
  await using stack = new AsyncDisposableStack()
  const base = await openProcess({ deployable: 'webhooks', config, stack, variables: process.env, known: SETTINGS })
  const { clock, log, kafka, topics, directory, metrics, serviceBucket, starting } = base
  const { policy, ca, retriesMax } = config.webhooks
  const events = kafkaEventLog(kafka, topics)
  const deliveries = stack.use(
    await openKafkaDeliveryLog({ ...base, connection: kafka }, { ...topics, bucket: serviceBucket }, starting),
  )
  const webhooks = stack.use(
    openWebhooks({
      ports: {
        ...base,
        events,
        deliveries,
        sender: stack.use(webhookSender({ clock, policy, ...(ca !== undefined && { ca }) })),
        meter: webhookMeter(metrics),
      },
      settings: { brand: config.brand, retriesMax },
      sealKey: config.sealKey,
    }),
  )
  // After a stop there is nothing to begin any more.
  void settingsThere(base, stop).then(() => stop.aborted || webhooks.begin())
  const retention = stack.use(openRetention({ ...base, events, deliveries }))
  using _ = base.probes.serving({
    isReady: () => ({ ready: directory.state().isReady, detail: { directory: directory.state() } }),
    isAlive: () => webhooks.isAlive() && retention.isAlive() && events.isAlive() && deliveries.isAlive(),
  })
  log.info({}, 'webhooks serve')
  await untilAborted(stop)
  log.info({}, 'webhooks draining')
}
