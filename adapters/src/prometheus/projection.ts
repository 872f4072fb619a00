/** Metrics of the projection, which builds views in Redis from the event log. */
import type { ProjectionMeter } from '@platen/contract/port/projection-meter.ts'
import { Counter, Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** Registers the metrics. Calls `lag` at each scrape; it must neither wait nor throw. Call once per `metrics`. */
export function projectionMeter({ registry }: Metrics, { lag }: { lag: () => number }): ProjectionMeter {
  const registers = [registry]
  const events = new Counter({
    name: 'platen_projection_events_total',
    help: 'Events applied to the views in Redis, including events that were applied again.',
    registers,
  })
  const rebuilds = new Counter({
    name: 'platen_projection_rebuilds_total',
    help: 'Rebuilds of the views after Redis lost all or some of them; each partition of the event log counts as one.',
    registers,
  })
  const waiting: Gauge = new Gauge({
    name: 'platen_projection_lag_events',
    help: 'Events that are not yet applied to the views in Redis.',
    registers,
    collect: () => waiting.set(lag()),
  })
  return { applied: (count) => events.inc(count), rebuildStarted: () => rebuilds.inc() }
}
