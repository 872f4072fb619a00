/** Metric of lost log lines. */
import { Counter, type Registry } from 'prom-client'

/** Registers the counter. Calls `droppedLines` at each scrape. Call once per `registry`. */
export function countDroppedLines(registry: Registry, { droppedLines }: { droppedLines: () => number }): void {
  const counter: Counter = new Counter({
    name: 'platen_log_lines_dropped_total',
    help: 'Log lines that were lost, because the output was not read in time or could not be written.',
    registers: [registry],
    collect() {
      counter.reset()
      counter.inc(droppedLines())
    },
  })
}
