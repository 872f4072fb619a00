/** Metrics of webhooks. */
import { ATTEMPT_RESULTS, DELIVERY_STATUSES } from '@platen/contract/delivery.ts'
import { DEFERRAL_REASONS, WEBHOOK_DEAD_LETTERS, type WebhookMeter } from '@platen/contract/port/webhook-meter.ts'
import { Counter, Histogram } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** Seconds: from a quick response to the limit of an attempt, 10 s. */
const ATTEMPT_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Seconds: from no delay to five minutes. A single deferral takes up to one minute. */
const LAG_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300]

/** Registers the metrics. Call once per `metrics`. */
export function webhookMeter({ registry }: Metrics): WebhookMeter {
  const registers = [registry]
  const attempts = new Counter({
    name: 'platen_webhook_attempts_total',
    help: 'Calls to webhook receivers, by result.',
    labelNames: ['result'],
    registers,
  })
  const duration = new Histogram({
    name: 'platen_webhook_attempt_duration_seconds',
    help: 'How long calls to webhook receivers took.',
    buckets: ATTEMPT_BUCKETS,
    registers,
  })
  const lag = new Histogram({
    name: 'platen_webhook_due_lag_seconds',
    help: 'How late an attempt began, compared with the time it was due.',
    buckets: LAG_BUCKETS,
    registers,
  })
  const ended = new Counter({
    name: 'platen_webhook_deliveries_ended_total',
    help: 'Webhook deliveries that ended, by status.',
    labelNames: ['status'],
    registers,
  })
  const deferrals = new Counter({
    name: 'platen_webhook_deferrals_total',
    help: 'Due deliveries that were deferred, by reason.',
    labelNames: ['reason'],
    registers,
  })
  const deadLetters = new Counter({
    name: 'platen_webhook_dead_letters_total',
    help: 'Render events and delivery reminders that could not be read and became dead letters.',
    labelNames: ['record'],
    registers,
  })
  // Every series exists as 0 from the first scrape. Else a rate would miss the count with which a series appears.
  for (const result of ATTEMPT_RESULTS) attempts.inc({ result }, 0)
  for (const reason of DEFERRAL_REASONS) deferrals.inc({ reason }, 0)
  for (const record of WEBHOOK_DEAD_LETTERS) deadLetters.inc({ record }, 0)
  for (const status of DELIVERY_STATUSES) if (status !== 'scheduled') ended.inc({ status }, 0)
  return {
    begun: (lagMs) => lag.observe(Math.max(lagMs, 0) / 1000),
    deferred: (reason) => deferrals.inc({ reason }),
    attempted(result, durationMs) {
      attempts.inc({ result })
      duration.observe(durationMs / 1000)
    },
    ended: (status) => ended.inc({ status }),
    deadLettered: (record) => deadLetters.inc({ record }),
  }
}
