import type { Clock } from '@platen/lib/clock.ts'
import type { Metrics } from '../registry.ts'

interface ServiceState {
  readonly log: { readonly droppedLines: () => number }
  readonly clock: Pick<Clock, 'now'>
  readonly isDraining: () => boolean
}

/** Reads the state at each scrape. */
export function serviceMetrics(metrics: Metrics, { log, clock, isDraining }: ServiceState): void {
  metrics.observableCounter(
    'platen_log_lines_dropped_total',
    'Log lines that were lost, because the output was not read in time or could not be written.',
    log.droppedLines,
  )
  metrics.observableGauge(
    'platen_time_seconds',
    'Unix time by the clock of this process; its difference to `timestamp()` of the same series is how wrong the clock is.',
    () => clock.now() / 1000,
  )
  metrics.observableGauge(
    'platen_draining',
    '1 from SIGTERM until the end of the process, else 0. `platen_slots_busy`, `platen_renders_storing`, `platen_sync_renders_waiting` and `platen_webhook_deliveries_held` say what is still running.',
    () => (isDraining() ? 1 : 0),
  )
}
