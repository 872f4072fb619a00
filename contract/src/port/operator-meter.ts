/** Most urgent first. `live`: a resource changed. `resync`: a resource is only checked again. */
export const PRIORITIES = ['live', 'resync'] as const
export type Priority = (typeof PRIORITIES)[number]

/** `requeue_after`: the object is reconciled again at a time of its own. */
export const RECONCILE_RESULTS = ['success', 'requeue_after', 'error'] as const
type ReconcileResult = (typeof RECONCILE_RESULTS)[number]

export const REQUEST_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type RequestMethod = (typeof REQUEST_METHODS)[number]

/** Counting never fails and never waits. */
export interface OperatorMeter {
  /** A controller has started, once per name. Each scrape calls `readState`, which must neither wait nor throw. */
  controller(
    name: string,
    controller: { readonly workers: number; readonly readState: () => WorkState },
  ): ControllerMeter
  /** The API server answered. `code` is its status, or `<error>` without an answer. */
  requested(method: RequestMethod, code: string, durationMs: number): void
  /** Whether this process holds the lease. */
  leading(isHeld: boolean): void
  relisted(kind: string): void
  watched(kind: string): void
  /** All changes up to now are in Redis. */
  published(): void
  /** `count` own entries in Redis or Secrets that somebody else had changed were restored. */
  repaired(kind: string, count: number): void
  /** An object could not be read. */
  unread(kind: string): void
}

export interface WorkState {
  /** Keys that wait for a worker. */
  readonly waiting: Readonly<Record<Priority, number>>
  /** How long each running key has been with its worker. */
  readonly runningMs: readonly number[]
}

export interface ControllerMeter {
  /** For a key that was not in the queue. */
  added(): void
  /** The key will be added to the queue later. */
  deferred(): void
  /** A worker took a key. */
  taken(waitedMs: number): void
  done(workedMs: number): void
  /** Counts a busy worker, until disposed. */
  busy(): Disposable
  reconciled(result: ReconcileResult, durationMs: number): void
}
