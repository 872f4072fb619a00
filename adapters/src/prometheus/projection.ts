/** Metrics of the projection, which builds views in Redis from the event log. */
import type { ProjectionMeter } from '@platen/contract/port/projection-meter.ts'
import type { Metrics } from './registry.ts'

/** Registers the metrics. Calls `lag` at each scrape; it must neither wait nor throw. Call once per `metrics`. */
export function projectionMeter(metrics: Metrics, { lag }: { lag: () => number }): ProjectionMeter {
  const events = metrics.counter(
    'platen_projection_events_total',
    'Events that were put into the views in Redis, those that were put there again included.',
  )
  const rebuilds = metrics.counter(
    'platen_projection_rebuilds_total',
    'How often views were made anew because Redis had lost them, wholly or in part; each partition of the event log counts.',
  )
  metrics.observableGauge('platen_projection_lag_events', 'Events that are not in the views in Redis yet.', lag)
  return { applied: (count) => events.inc(count), rebuildStarted: () => rebuilds.inc() }
}
