/** Metrics of the projection, which builds views in Redis from the event log. */
import type { ProjectionMeter } from '@platen/contract/port/projection-meter.ts'
import type { Metrics } from './registry.ts'

/** Registers the metrics. Calls `lag` at each scrape; it must neither wait nor throw. Call once per `metrics`. */
export function projectionMeter(metrics: Metrics, { lag }: { lag: () => number }): ProjectionMeter {
  const events = metrics.counter(
    'platen_projection_events_total',
    'Events applied to the views in Redis, including events that were applied again.',
  )
  const rebuilds = metrics.counter(
    'platen_projection_rebuilds_total',
    'Rebuilds of the views after Redis lost all or some of them; each partition of the event log counts as one.',
  )
  metrics.observableGauge('platen_projection_lag_events', 'Events that are not yet applied to the views in Redis.', lag)
  return { applied: (count) => events.inc(count), rebuildStarted: () => rebuilds.inc() }
}
