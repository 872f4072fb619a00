/** What is done next comes before what is looked at again. */
export const PRIORITIES = ['live', 'resync'] as const
export type Priority = (typeof PRIORITIES)[number]

/** How a look at one object ended. `requeue_after`: it is to be looked at again at a time of its own. */
export const RECONCILE_RESULTS = ['success', 'requeue_after', 'error'] as const
export type ReconcileResult = (typeof RECONCILE_RESULTS)[number]

/** What operators watch of the operator itself. Counting never fails and never waits. */
export interface OperatorMeter {
  /** A controller has begun, with so many workers. `look` is asked at each scrape, and must neither wait nor throw. Once for each name. */
  controller(
    name: string,
    controller: { readonly workers: number; readonly readState: () => WorkState },
  ): ControllerMeter
  /** A request to the API server was answered; `code` is its status, or `<error>` when no answer came. */
  requested(method: string, code: string): void
  /** Whether this process holds the lease. */
  leading(isHeld: boolean): void
  /** All objects of a kind were listed. */
  relisted(kind: string): void
  /** A watch of a kind was opened. */
  watched(kind: string): void
  /** So much of what we wrote, in Redis or in Secrets, was changed by somebody else, and was put right. */
  repaired(kind: string, count: number): void
  /** An object of a kind was met that cannot be read. */
  unread(kind: string): void
}

export interface WorkState {
  /** Keys that wait for a worker. */
  readonly waiting: Readonly<Record<Priority, number>>
  /** How long each key has been with its worker, in milliseconds. */
  readonly runningMs: readonly number[]
}

export interface ControllerMeter {
  /** A key was put into the queue, where it was not. */
  added(): void
  /** A key is to be put into the queue later. */
  deferred(): void
  /** A worker took a key that has waited for so long. */
  taken(waitedMs: number): void
  /** The worker is done with it. */
  done(workedMs: number): void
  /** A worker is busy, until this is disposed. */
  busy(): Disposable
  reconciled(result: ReconcileResult, durationMs: number): void
  /** An error that no retry mends; it is counted as an error as well. */
  failedTerminally(): void
}
