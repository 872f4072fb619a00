/** Metric of Redis, for each process that uses it. */
import { Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** Registers the gauge. Calls `isDown` at each scrape. Call once per `metrics`. */
export function gaugeRedis({ registry }: Metrics, { isDown }: { isDown: () => boolean }): void {
  const up: Gauge = new Gauge({
    name: 'platen_redis_up',
    help: '1 while Redis answers and takes writes, else 0.',
    registers: [registry],
    collect: () => up.set(isDown() ? 0 : 1),
  })
}
