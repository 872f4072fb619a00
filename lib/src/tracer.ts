import type { Instant } from './brand.ts'
import type { TraceContext } from './trace.ts'

/**
 * Records what the service does, as spans of traces. Recording never fails, never waits and keeps a limited amount. Parents are passed on
 * as values, in records and arguments: most spans of a render are recorded by another process than their parent.
 */
export interface Tracer {
  /** Starts a span. It is recorded when it ends. */
  start(name: string, options: SpanOptions): Span
  /** The id of the context's trace, if spans of it are exported. A metric may name it as an example. */
  exportedTraceId(context: TraceContext | undefined): string | undefined
}

/** What a span is to other processes. `producer` and `consumer` are the two ends of a queue. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'

/** Facts of a span, by the names of OpenTelemetry's semantic conventions, or `platen.…`. Never content of a tenant. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

export interface SpanOptions {
  /** Absent = the first span of a trace. */
  readonly parent?: TraceContext | undefined
  /** A context that caused a trace of its own. Not together with `parent`. */
  readonly link?: TraceContext | undefined
  /** Absent = `internal`. */
  readonly kind?: SpanKind
  readonly attributes?: SpanAttributes
  /** Absent = now. */
  readonly startedAt?: Instant
}

/** Disposing it ends it. */
export interface Span extends Disposable {
  /** The parent of what this span causes. If spans are not recorded, that is the parent or the link of this one. */
  readonly context: TraceContext | undefined
  /** The first call counts. */
  end(end?: SpanEnd): void
}

interface SpanEnd {
  readonly attributes?: SpanAttributes
  /** What went wrong, from a closed set. Absent = nothing. */
  readonly error?: string | undefined
  /** Absent = now. */
  readonly endedAt?: Instant
}

/** Records nothing, and passes contexts on. */
export const NO_TRACER: Tracer = {
  start: (_name, { parent, link }) => unrecorded(parent ?? link),
  exportedTraceId: () => undefined,
}

function unrecorded(context: TraceContext | undefined): Span {
  return context === undefined ? UNTRACED : { ...UNTRACED, context }
}

const UNTRACED: Span = { context: undefined, end: () => undefined, [Symbol.dispose]: () => undefined }

/** Does `work` in a span, which ends with it. An error is recorded by its name. */
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
