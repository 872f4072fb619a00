import type { ProjectionMeter } from '@platen/contract/port/projection-meter.ts'
import type { Metrics } from '../registry.ts'

export function projectionMeter(metrics: Metrics): ProjectionMeter {
  const events = metrics.counter(
    'platen_projection_events_total',
    'Events applied to the views in Redis, including events that were applied again.',
  )
  const rebuilds = metrics.counter(
    'platen_projection_rebuilds_total',
    'Rebuilds of the views after Redis lost all or some of them; each partition of the event log counts as one.',
  )
  return { applied: (count) => events.inc(count), rebuildStarted: () => rebuilds.inc() }
}
