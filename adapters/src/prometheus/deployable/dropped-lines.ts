/** How much of its log a process has lost. */
import { Counter, type Registry } from 'prom-client'

/** Adds the counter to what is scraped. `droppedLines` is asked at each scrape. Once for each `registry`. */
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
