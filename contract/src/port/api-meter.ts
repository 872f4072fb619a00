import type { Fault, HttpErrorCode } from '../domain/error.ts'
import type { RenderRecord } from '../domain/render.ts'

/** One route of the API: a path pattern as it was registered, and a method. */
export interface Route {
  /** Absent if no route has the path. */
  readonly path?: string | undefined
  readonly method: string
}

/** What the API holds in memory until a request is answered. */
export const HELD_BYTES = ['bodies', 'answers'] as const
type HeldBytes = (typeof HELD_BYTES)[number]

/** Metrics of the API. Counting never fails and never waits. */
export interface ApiMeter {
  /** A route was registered. Its counts start at zero. */
  routed(route: Route): void
  /** A request was answered, with any status, or its caller has left. `traceId` is that of its trace, if that is exported. */
  answered(
    route: Route,
    answer: { readonly status: number; readonly durationMs: number; readonly traceId?: string | undefined },
  ): void
  /** A request was refused. `fault` distinguishes a failing template from a defect of the service, which share one code. */
  refused(problem: { readonly code: HttpErrorCode; readonly fault: Fault }): void
  /** A render was queued. */
  accepted(render: Pick<RenderRecord, 'engine' | 'mode' | 'lane'>): void
  /** A caller waits for a sync render, until this is disposed. */
  waiting(): Disposable
  /** A caller waits for the end of a render at its status, until this is disposed. */
  awaitingEnd(): Disposable
  /** Bytes of request bodies or of answers are held from now on, or no longer where the number is negative. */
  held(what: HeldBytes, bytes: number): void
  /** A call of the limiter failed. */
  limiterFailed(): void
}
