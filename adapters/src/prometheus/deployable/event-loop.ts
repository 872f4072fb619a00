/**
 * Metrics of the event loop delay. A process whose event loop is blocked answers nobody, and nothing else shows that. prom-client's own
 * `nodejs_eventloop_lag_*` are reset at each scrape. So each of two scrapers sees only a part, and none may see a block right after a
 * scrape.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics } from '../registry.ts'

/** Interval of the samples. Node includes it in each measured delay. */
const RESOLUTION_MS = 10
/** At least two minutes, since samples are never closer than the resolution. Scrapers come once a minute or more often. */
const SAMPLES_MIN = 120_000 / RESOLUTION_MS

interface EventLoopOptions {
  /** If false, nothing is measured. */
  readonly isRead: boolean
  /** The minimum number of samples that the gauges cover; tests use fewer. */
  readonly samplesMin?: number
}

export function gaugeEventLoop(metrics: Metrics, { isRead, samplesMin = SAMPLES_MIN }: EventLoopOptions): void {
  const delay = isRead ? recentDelay(samplesMin) : undefined
  const gauge = (name: string, of: string, secondsOf: (delay: DelaySeconds) => number) =>
    metrics.observableGauge(
      name,
      `${of} event loop delay of the last two to four minutes, however often it is scraped; of a longer time if it is not scraped.`,
      () => (delay === undefined ? 0 : secondsOf(delay())),
    )
  gauge('platen_event_loop_delay_p99_seconds', '99th percentile of the', ({ p99 }) => p99)
  gauge('platen_event_loop_delay_max_seconds', 'Maximum', ({ max }) => max)
}

interface DelaySeconds {
  readonly p99: number
  readonly max: number
}

/** Keeps two overlapping histograms. Reports the older one until the newer one has enough samples to replace it. */
function recentDelay(looksMin: number): () => DelaySeconds {
  const begin = () => monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  let [older, newer] = [begin(), begin()]
  older.enable()
  newer.enable()
  return () => {
    if (newer.count >= looksMin) {
      older.reset()
      ;[older, newer] = [newer, older]
    }
    return { p99: lateSeconds(older.percentile(99)), max: lateSeconds(older.max) }
  }
}

function lateSeconds(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1000
}
