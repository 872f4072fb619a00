import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import type { Tracer } from '@platen/lib/tracer.ts'

export interface TracerOptions {
  readonly protocol: 'http/protobuf' | 'http/json'
  /** Example: `api`. */
  readonly deployable: string
  /** What renders and events wait in: `kafka`. */
  readonly messagingSystem: string
  readonly clock: Clock
  readonly log: Log
}

/** Closing it waits for the last spans, up to `LAST_SPANS_MS_MAX`. */
export interface ProcessTracer extends Tracer, AsyncDisposable {
  /** Spans since the start that were not exported, because the collector was too slow or refused them. */
  readonly lostSpans: () => number
}
