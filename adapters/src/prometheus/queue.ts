/** What is seen of the render queue, whether or not there are renderers. */
import type { Lane } from '@platen/contract/render.ts'
import type { Engine } from '@platen/contract/render-options.ts'
import { Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** What waits in one line of the queue. */
export interface Backlog {
  readonly engine: Engine
  readonly lane: Lane
  /** Accepted and not ended. */
  readonly renders: number
  /** How long the oldest of them has been there. */
  readonly oldestMs: number
}

/** Adds the gauges to what is scraped. `look` is asked at each scrape, must neither wait nor throw, and gives nothing while nothing is known. */
export function gaugeQueue({ registry }: Metrics, read: () => readonly Backlog[]): void {
  const gauge = (name: string, help: string, valueOf: (backlog: Backlog) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['engine', 'lane'],
      registers: [registry],
      collect() {
        // Of a queue that cannot be looked at, what was seen last would be taken for how it is.
        this.reset()
        for (const backlog of read()) this.set({ engine: backlog.engine, lane: backlog.lane }, valueOf(backlog))
      },
    })
  gauge(
    'platen_queue_lag_renders',
    'Renders that wait for a renderer or are being rendered, by the offsets in Kafka; absent while Kafka cannot be asked.',
    ({ renders }) => renders,
  )
  gauge(
    'platen_queue_oldest_seconds',
    'How long ago the oldest of them was accepted, up to a tenth too low; absent while Kafka cannot be asked.',
    ({ oldestMs }) => oldestMs / 1000,
  )
}
