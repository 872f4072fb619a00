import { REMOVED_KINDS, type RetentionMeter } from '@platen/contract/port/retention-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Metrics } from '../registry.ts'

export function retentionMeter(metrics: Metrics, clock: Pick<Clock, 'now'>): RetentionMeter {
  const removals = metrics.counter(
    'platen_retention_removals_total',
    'Expired things that were removed or could not be.',
    {
      kind: REMOVED_KINDS,
      result: ['removed', 'failed'],
    },
  )
  const complete = metrics.gauge(
    'platen_retention_complete_timestamp_seconds',
    'Unix time at which this process last had removed all that had expired of a kind; before that, its start.',
    { kind: REMOVED_KINDS },
  )
  for (const kind of REMOVED_KINDS) complete.set({ kind }, clock.now() / 1000)
  return {
    ended(kind, { removed, failed }) {
      removals.inc({ kind, result: 'removed' }, removed)
      removals.inc({ kind, result: 'failed' }, failed)
      if (failed === 0) complete.set({ kind }, clock.now() / 1000)
    },
  }
}
