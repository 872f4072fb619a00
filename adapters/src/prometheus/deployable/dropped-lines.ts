/** Metric of lost log lines. */
import { Counter, type Registry } from 'prom-client'

/** Registers the counter. Calls `droppedLines` at each scrape. Call once per `registry`. */
export function countDroppedLines(registry: Registry, { droppedLines }: { droppedLines: () => number }): void {
  const counter: Counter = new Counter({
    name: 'platen_log_lines_dropped_total',
    help: 'Lines of the log that were dropped because nobody read those before them, or that could not be written.',
    registers: [registry],
    collect() {
      counter.reset()
      counter.inc(droppedLines())
    },
  })
}
