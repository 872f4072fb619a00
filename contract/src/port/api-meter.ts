import type { Fault, HttpErrorCode } from '../domain/error.ts'
import type { RenderRecord } from '../domain/render.ts'

export interface Route {
  /** The pattern as registered. Absent if no route has the path. */
  readonly path?: string | undefined
  readonly method: string
}

/** What the API keeps in memory until a request is answered. */
export const HELD_BYTES = ['bodies', 'answers'] as const
type HeldBytes = (typeof HELD_BYTES)[number]

/** Counting never fails and never waits. */
export interface ApiMeter {
  /** The counts of a route start at zero when it is registered. */
  routed(route: Route): void
  /** With any status, or because the caller has left. `traceId` is set if the trace is exported. */
  answered(
    route: Route,
    answer: { readonly status: number; readonly durationMs: number; readonly traceId?: string | undefined },
  ): void
  /** `fault` distinguishes a failing template from a defect of the service, which share one code. */
  refused(problem: { readonly code: HttpErrorCode; readonly fault: Fault }): void
  accepted(render: Pick<RenderRecord, 'engine' | 'mode' | 'lane'>): void
  /** Counts a caller of a sync render, until disposed. */
  waiting(): Disposable
  /** Counts a caller that waits at the status of a render, until disposed. */
  awaitingEnd(): Disposable
  /** Adds bytes of request bodies or answers in memory. A negative number removes them. */
  held(what: HeldBytes, bytes: number): void
  limiterFailed(): void
}
