/** What is seen of Redis by each process that uses it. */
import { Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** Adds the gauge to what is scraped. `isAway` is asked at each scrape. Once for each `metrics`. */
export function gaugeRedis({ registry }: Metrics, { isDown }: { isDown: () => boolean }): void {
  const up: Gauge = new Gauge({
    name: 'platen_redis_up',
    help: '1 while Redis gives a sign of life and takes writes, else 0.',
    registers: [registry],
    collect: () => up.set(isDown() ? 0 : 1),
  })
}
