/** Metrics of what is in Kafka. Those of the render queue also exist without any renderer. */
import type { Lane } from '@platen/contract/render.ts'
import type { Engine } from '@platen/contract/render-options.ts'
import { Gauge } from 'prom-client'
import type { Metrics } from './registry.ts'

/** The renders in the queue of one engine and lane. */
export interface Backlog {
  readonly engine: Engine
  readonly lane: Lane
  /** Renders that are accepted and not ended. */
  readonly renders: number
  /** Age of the oldest of them. */
  readonly oldestMs: number
}

/** Registers the gauges. Calls `read` at each scrape; it must neither wait nor throw, and returns nothing if nothing is known. */
export function gaugeQueue({ registry }: Metrics, read: () => readonly Backlog[]): void {
  const gauge = (name: string, help: string, valueOf: (backlog: Backlog) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['engine', 'lane'],
      registers: [registry],
      collect() {
        // If the queue cannot be read, the last values would look like current ones.
        this.reset()
        for (const backlog of read()) this.set({ engine: backlog.engine, lane: backlog.lane }, valueOf(backlog))
      },
    })
  gauge(
    'platen_queue_lag_renders',
    'Renders that are waiting or being rendered, by the offsets in Kafka; absent while Kafka is unavailable.',
    ({ renders }) => renders,
  )
  gauge(
    'platen_queue_oldest_seconds',
    'Age of the oldest render that is waiting or being rendered, up to a tenth too low; absent while Kafka is unavailable.',
    ({ oldestMs }) => oldestMs / 1000,
  )
}

/** The records that a process may set aside for a newer version. */
export type SetAsideRecord = 'render' | 'event' | 'delivery'

/** Registers the counter, with those that this process reads. Call once per `metrics`. */
export function countSetAside<Name extends SetAsideRecord>(
  metrics: Metrics,
  records: readonly Name[],
): (record: Name) => void {
  const counter = metrics.counter(
    'platen_set_aside_records_total',
    'Records of a newer format that were set aside for processes of a newer version.',
    { record: records },
  )
  return (record) => counter.inc({ record })
}
