import type { Metrics } from '../registry.ts'

/** Calls `lostSpans` at each scrape. */
export function countLostSpans(metrics: Metrics, { lostSpans }: { lostSpans: () => number }): void {
  const help = 'Spans of traces that were not exported, because the collector was too slow, away, or refused them.'
  metrics.observableCounter('platen_trace_spans_lost_total', help, lostSpans)
}
