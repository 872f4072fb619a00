/** Metrics of what waits in Kafka. They exist without any consumer, too. */
import type { Backlog, QueueBacklog } from '@platen/contract/domain/backlog.ts'
import { Gauge } from 'prom-client'
import type { Metrics } from '../registry.ts'

/** Calls `read` at each scrape; it must neither wait nor throw, and returns undefined if nothing is known. */
export function gaugeBacklog({ registry }: Metrics, read: () => Backlog | undefined): void {
  const gauge = (name: string, help: string, { labels: labelNames, seriesOf }: SeriesOptions) =>
    new Gauge({
      name,
      help: `${help}, by the offsets in Kafka; absent while Kafka is unavailable.`,
      labelNames,
      registers: [registry],
      collect() {
        // If Kafka cannot be read, the last values would look like current ones.
        this.reset()
        const backlog = read()
        for (const [labels, value] of backlog === undefined ? [] : seriesOf(backlog)) this.set(labels, value)
      },
    })
  const queue = (name: string, help: string, valueOf: (queue: QueueBacklog) => number) =>
    gauge(name, help, {
      labels: ['engine', 'lane'],
      seriesOf: ({ queues }) => queues.map((each) => [{ engine: each.engine, lane: each.lane }, valueOf(each)]),
    })
  queue('platen_queue_lag_renders', 'Renders that are waiting or being rendered', ({ renders }) => renders)
  queue(
    'platen_queue_oldest_seconds',
    'Age of the oldest render that is waiting or being rendered, up to a tenth too low',
    ({ oldestMs }) => oldestMs / 1000,
  )
  gauge(
    'platen_event_lag_events',
    'Events that a reader of the event log has not done: `projection` writes them to Redis, `webhooks` schedules their deliveries, and `retention` writes them to the expiry index every five minutes',
    {
      labels: ['reader'],
      seriesOf: ({ readers }) => readers.map(({ name, records }) => [{ reader: name }, records]),
    },
  )
  gauge(
    'platen_webhook_backlog_deliveries',
    'Webhook deliveries that are not ended: those that wait for a free call or are being made, and those that wait for the time of their next attempt. `platen_webhook_deferrals_total` counts why',
    {
      labels: ['waits_for'],
      seriesOf: ({ deliveries }) => deliveries.map(({ name, records }) => [{ waits_for: name }, records]),
    },
  )
}

type Series = readonly [labels: Readonly<Record<string, string>>, value: number]

interface SeriesOptions {
  readonly labels: string[]
  readonly seriesOf: (backlog: Backlog) => readonly Series[]
}
