/** Queue priorities, most urgent first. `live`: a resource changed. `resync`: a resource is only checked again. */
export const PRIORITIES = ['live', 'resync'] as const
export type Priority = (typeof PRIORITIES)[number]

/** The result of one reconciliation. `requeue_after`: the object is reconciled again at a time of its own. */
export const RECONCILE_RESULTS = ['success', 'requeue_after', 'error'] as const
type ReconcileResult = (typeof RECONCILE_RESULTS)[number]

/** The methods of requests to the API server. */
export const REQUEST_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type RequestMethod = (typeof REQUEST_METHODS)[number]

/** Metrics of the operator. Counting never fails and never waits. */
export interface OperatorMeter {
  /** A controller has started with so many workers. Each scrape calls `readState`, which must neither wait nor throw. Once per name. */
  controller(
    name: string,
    controller: { readonly workers: number; readonly readState: () => WorkState },
  ): ControllerMeter
  /** The API server answered a request. `code` is its status, or `<error>` without an answer. */
  requested(method: RequestMethod, code: string, durationMs: number): void
  /** Whether this process holds the lease. */
  leading(isHeld: boolean): void
  /** All objects of a kind were listed. */
  relisted(kind: string): void
  /** A watch of a kind was opened. */
  watched(kind: string): void
  /** All changes up to now are in Redis. */
  published(): void
  /** The operator restored `count` of its own entries in Redis or Secrets that somebody else had changed. */
  repaired(kind: string, count: number): void
  /** An object of a kind could not be read. */
  unread(kind: string): void
}

export interface WorkState {
  /** Keys that wait for a worker. */
  readonly waiting: Readonly<Record<Priority, number>>
  /** How long each key has been with its worker, in milliseconds. */
  readonly runningMs: readonly number[]
}

export interface ControllerMeter {
  /** A key was added to the queue that was not in it. */
  added(): void
  /** A key will be added to the queue later. */
  deferred(): void
  /** A worker took a key that had waited for this long. */
  taken(waitedMs: number): void
  /** The worker has finished it. */
  done(workedMs: number): void
  /** A worker is busy, until this is disposed. */
  busy(): Disposable
  reconciled(result: ReconcileResult, durationMs: number): void
}
