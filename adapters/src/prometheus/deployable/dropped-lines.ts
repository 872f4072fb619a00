/** Metric of lost log lines. */
import type { Metrics } from '../registry.ts'

/** Registers the counter. Calls `droppedLines` at each scrape. Call once per `metrics`. */
export function countDroppedLines(metrics: Metrics, { droppedLines }: { droppedLines: () => number }): void {
  const help = 'Lines of the log that were dropped because nobody read those before them, or that could not be written.'
  metrics.observableCounter('platen_log_lines_dropped_total', help, droppedLines)
}
