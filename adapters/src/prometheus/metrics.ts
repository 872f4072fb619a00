/** What Prometheus scrapes, by prom-client. Labels come from closed sets only: no tenant, host or id, of which there is no end. */
import { ATTEMPT_RESULTS, DELIVERY_STATUSES } from '@platen/contract/delivery.ts'
import type { WebhookMeter } from '@platen/contract/port/webhook-meter.ts'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export interface Metrics {
  readonly contentType: string
  /** Everything counted so far, in the exposition format. */
  text(): Promise<string>
  readonly webhooks: WebhookMeter
}

/** Seconds, from a quick answer to the ten of an attempt. */
const ATTEMPT_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Seconds, from at once to a minute of being put off. */
const LAG_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300]

/** Counters at zero; with those of the process itself where somebody reads them, as they watch its collector and its event loop. */
export function openMetrics({ isRead }: { isRead: boolean }): Metrics {
  const registry = new Registry()
  if (isRead) collectDefaultMetrics({ register: registry })
  return { contentType: registry.contentType, text: () => registry.metrics(), webhooks: webhookMeter(registry) }
}

function webhookMeter(registry: Registry): WebhookMeter {
  const registers = [registry]
  const attempts = new Counter({
    name: 'platen_webhook_attempts_total',
    help: 'Calls of webhook receivers, by result.',
    labelNames: ['result'],
    registers,
  })
  const duration = new Histogram({
    name: 'platen_webhook_attempt_duration_seconds',
    help: 'How long calls of webhook receivers took.',
    buckets: ATTEMPT_BUCKETS,
    registers,
  })
  const lag = new Histogram({
    name: 'platen_webhook_due_lag_seconds',
    help: 'How long after it was due an attempt began.',
    buckets: LAG_BUCKETS,
    registers,
  })
  const ended = new Counter({
    name: 'platen_webhook_deliveries_ended_total',
    help: 'Webhook deliveries that came to their end, by how they ended.',
    labelNames: ['status'],
    registers,
  })
  // Zero is told from the first scrape on: a rate over a counter that appears with its first count misses that one.
  for (const result of ATTEMPT_RESULTS) attempts.inc({ result }, 0)
  for (const status of DELIVERY_STATUSES) if (status !== 'scheduled') ended.inc({ status }, 0)
  return {
    begun: (lagMs) => lag.observe(Math.max(lagMs, 0) / 1000),
    attempted(result, durationMs) {
      attempts.inc({ result })
      duration.observe(durationMs / 1000)
    },
    ended: (status) => ended.inc({ status }),
  }
}
