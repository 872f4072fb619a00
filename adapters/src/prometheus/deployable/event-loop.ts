/**
 * How late the event loop is: a process whose loop is held answers nobody, and gives no other sign of it. prom-client's own
 * `nodejs_eventloop_lag_*` begin anew at each scrape, so that of two scrapers each sees a part, and what holds the loop right after
 * a scrape is seen by none.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, type Registry } from 'prom-client'

/** How often it is looked at. Node counts this in, though nothing is late by it. */
const RESOLUTION_MS = 10
/** Two minutes at least, as no look comes sooner than the resolution says: scrapers come once a minute or more often. */
const SAMPLES_MIN = 120_000 / RESOLUTION_MS

export interface EventLoopOptions {
  /** Whether somebody scrapes; else nothing is measured. */
  readonly isRead: boolean
  /** How far back the gauges reach at least; tests have it shorter. */
  readonly samplesMin?: number
}

/** Adds the gauges to what is scraped. Once for each `registry`. */
export function gaugeEventLoop(registry: Registry, { isRead, samplesMin = SAMPLES_MIN }: EventLoopOptions): void {
  const delay = isRead ? recentDelay(samplesMin) : undefined
  const gauge = (name: string, of: string, secondsOf: (delay: DelaySeconds) => number) =>
    new Gauge({
      name,
      help: `${of} of the event loop in the last two to four minutes, whoever scrapes and how often; longer where nobody does.`,
      registers: [registry],
      collect() {
        if (delay !== undefined) this.set(secondsOf(delay()))
      },
    })
  gauge('platen_event_loop_delay_p99_seconds', 'The 99th percentile of the delays', ({ p99 }) => p99)
  gauge('platen_event_loop_delay_max_seconds', 'The longest delay', ({ max }) => max)
}

interface DelaySeconds {
  readonly p99: number
  readonly max: number
}

/** Two histograms that overlap: the older one is told until the newer one reaches back far enough to take its place. */
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
