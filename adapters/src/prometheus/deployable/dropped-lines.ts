/** Metric of lost log lines. */
import type { Metrics } from '../registry.ts'

/** Registers the counter. Calls `droppedLines` at each scrape. Call once per `metrics`. */
export function countDroppedLines(metrics: Metrics, { droppedLines }: { droppedLines: () => number }): void {
  const help = 'Log lines that were lost, because the output was not read in time or could not be written.'
  metrics.observableCounter('platen_log_lines_dropped_total', help, droppedLines)
}
