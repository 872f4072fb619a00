import { ATTEMPT_RESULTS, DELIVERY_STATUSES } from '@platen/contract/domain/delivery.ts'
import {
  DEFERRAL_REASONS,
  HELD_STATES,
  type HeldDeliveries,
  WEBHOOK_DEAD_LETTERS,
  type WebhookMeter,
} from '@platen/contract/port/webhook-meter.ts'
import { Gauge } from 'prom-client'
import type { Metrics } from '../registry.ts'

/** Seconds: from a quick response to an attempt that misses its limit, 10 s. */
const ATTEMPT_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]
/** Seconds: from no delay to a day without any dispatcher. A single deferral takes up to one minute. */
const LAG_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 3600, 86_400]

export function webhookMeter(metrics: Metrics): WebhookMeter {
  const attempts = metrics.counter('platen_webhook_attempts_total', 'Calls to webhook receivers, by result.', {
    result: ATTEMPT_RESULTS,
  })
  const duration = metrics.tracedHistogram(
    'platen_webhook_attempt_duration_seconds',
    'How long calls to webhook receivers took.',
    { buckets: ATTEMPT_BUCKETS },
  )
  const lag = metrics.histogram(
    'platen_webhook_due_lag_seconds',
    'How late an attempt began, compared with the time it was due.',
    {
      buckets: LAG_BUCKETS,
    },
  )
  const ended = metrics.counter('platen_webhook_deliveries_ended_total', 'Webhook deliveries that ended, by status.', {
    status: DELIVERY_STATUSES.filter((status) => status !== 'scheduled'),
  })
  const deferrals = metrics.counter('platen_webhook_deferrals_total', 'Due deliveries that were deferred, by reason.', {
    reason: DEFERRAL_REASONS,
  })
  const deadLetters = metrics.counter(
    'platen_webhook_dead_letters_total',
    'Render events and delivery reminders that could not be read and became dead letters.',
    { record: WEBHOOK_DEAD_LETTERS },
  )
  let read = (): HeldDeliveries => ({ waiting: 0, calling: 0 })
  const held: Gauge = new Gauge({
    name: 'platen_webhook_deliveries_held',
    help: 'Due deliveries in the memory of this process: those that wait for a free call, and those whose receiver is being called.',
    labelNames: ['state'],
    registers: [metrics.registry],
    collect() {
      const now = read()
      for (const state of HELD_STATES) held.set({ state }, now[state])
    },
  })
  return {
    dispatching(next) {
      read = next
    },
    begun: (lagMs) => lag.observe(Math.max(lagMs, 0) / 1000),
    deferred: (reason) => deferrals.inc({ reason }),
    attempted(result, durationMs, traceId) {
      attempts.inc({ result })
      duration.observe({}, durationMs / 1000, traceId)
    },
    ended: (status) => ended.inc({ status }),
    deadLettered: (record) => deadLetters.inc({ record }),
  }
}

interface SealCounts {
  readonly first: number
  readonly older: number
  readonly unknown: number
}

/** Calls `counts` at each scrape. */
export function gaugeSealedSecrets(metrics: Metrics, counts: () => SealCounts): void {
  const read = () => ({ ...counts() })
  metrics.labelledGauge(
    'platen_webhook_secrets',
    'Published webhook secrets, by the key of `PLATEN_SEAL_KEY` that sealed them: the first, one of the others, or none of them.',
    { label: 'sealed_with', read },
  )
}
