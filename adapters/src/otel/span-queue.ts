/**
 * The bounded queue of spans before their exporter. The SDK batches and sends them; this counts lost spans, which the SDK does not report.
 * A collector that hangs, refuses or is away costs this much memory and two log lines.
 */

import { TraceFlags } from '@opentelemetry/api'
import { ExportResultCode } from '@opentelemetry/core'
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import type { Log } from '@platen/lib/log.ts'
import { SPANS_WAITING_MAX } from './limit.ts'

/** Characters of a collector's answer in a log line. */
const EXPORT_ERROR_CHARS_MAX = 200

interface SpanQueue {
  readonly processor: SpanProcessor
  readonly lostSpans: () => number
}

/** Logs when the first spans are lost, and when spans are exported again. */
export function openSpanQueue(exporter: SpanExporter, log: Log): SpanQueue {
  let waiting = 0
  let lost = 0
  /** Lost spans since the last successful export. */
  let lostSince = 0
  const lose = (spans: number, reason: string) => {
    if (lostSince === 0) log.warn({ reason: reason.slice(0, EXPORT_ERROR_CHARS_MAX) }, 'trace spans lost')
    lost += spans
    lostSince += spans
  }
  const recovered = () => {
    if (lostSince > 0) log.info({ spans: lostSince }, 'trace spans exported again')
    lostSince = 0
  }
  const counted: SpanExporter = {
    export(spans, done) {
      waiting -= spans.length
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) recovered()
        else lose(spans.length, result.error?.message ?? 'the export failed')
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush !== undefined && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  }
  const batches = new BatchSpanProcessor(counted, { maxQueueSize: SPANS_WAITING_MAX })
  const processor: SpanProcessor = {
    onStart: (span, context) => batches.onStart(span, context),
    onEnd(span: ReadableSpan) {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
      if (waiting >= SPANS_WAITING_MAX) return lose(1, 'too many spans wait for the collector')
      waiting += 1
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
  return { processor, lostSpans: () => lost }
}
