import type { Instant } from './brand.ts'
import type { TraceContext } from './trace.ts'

/**
 * Records spans of traces. Recording never fails, never waits and keeps a limited amount. Parents are passed on as values, in records and
 * arguments: most spans of a render have a parent in another process.
 */
export interface Tracer {
  /** The span is recorded when it ends. */
  start(name: string, options: SpanOptions): Span
  /** The id of the context's trace if its spans are exported. A metric may name it as an example. */
  exportedTraceId(context: TraceContext | undefined): string | undefined
}

/** `producer` and `consumer` are the two ends of a queue. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'

/** By the names of OpenTelemetry's semantic conventions, or `platen.…`. Never content of a tenant. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

export interface SpanOptions {
  /** Absent = this span begins a trace. */
  readonly parent?: TraceContext | undefined
  /** A context that caused a trace of its own. Not together with `parent`. */
  readonly link?: TraceContext | undefined
  /** Absent = `internal`. */
  readonly kind?: SpanKind
  readonly attributes?: SpanAttributes
  /** Absent = now. */
  readonly startedAt?: Instant
}

export interface Span extends Disposable {
  /** The parent of what this span causes. If spans are not recorded, the parent or link of this one. */
  readonly context: TraceContext | undefined
  /** Only the first call counts. */
  end(end?: SpanEnd): void
}

interface SpanEnd {
  readonly attributes?: SpanAttributes
  /** From a closed set. Absent = nothing went wrong. */
  readonly error?: string | undefined
  /** Absent = now. */
  readonly endedAt?: Instant
}

/** Passes contexts on. */
export const NO_TRACER: Tracer = {
  start: (_name, { parent, link }) => unrecorded(parent ?? link),
  exportedTraceId: () => undefined,
}

function unrecorded(context: TraceContext | undefined): Span {
  return context === undefined ? UNTRACED : { ...UNTRACED, context }
}

const UNTRACED: Span = { context: undefined, end: () => undefined, [Symbol.dispose]: () => undefined }

/** The span ends with `work`. An error is recorded by its name. */
export async function inSpan<Value>(
  tracer: Tracer,
  [name, options]: readonly [string, SpanOptions],
  work: (context: TraceContext | undefined) => Promise<Value>,
): Promise<Value> {
  using span = tracer.start(name, options)
  try {
    return await work(span.context)
  } catch (error) {
    span.end({ error: error instanceof Error ? error.name : 'Error' })
    throw error
  }
}
