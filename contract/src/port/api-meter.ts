import type { Fault, HttpErrorCode } from '../error.ts'
import type { RenderRecord } from '../render.ts'

/** One way into the API: the pattern of its path as it was registered, and a method. */
export interface Route {
  /** Absent where the path is nobody's. */
  readonly path?: string | undefined
  readonly method: string
}

/** What operators watch of the API. Counting never fails and never waits. */
export interface ApiMeter {
  /** The route is there from now on, so that its counts begin at zero. */
  routed(route: Route): void
  /** A request was answered, whatever the answer. */
  answered(route: Route, answer: { readonly status: number; readonly durationMs: number }): void
  /** An answer was a refusal; `fault` tells a template that fails from a defect of the service, which have one code. */
  refused(problem: { readonly code: HttpErrorCode; readonly fault: Fault }): void
  /** The queue has a render. */
  accepted(render: Pick<RenderRecord, 'engine' | 'mode' | 'lane'>): void
  /** A caller waits for a sync render, until this is disposed. */
  waiting(): Disposable
  /** A call of the limiter failed. */
  limiterFailed(): void
}
