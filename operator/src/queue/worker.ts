import type { ControllerMeter } from '@platen/contract/port/operator-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { firstAborted } from '@platen/lib/race.ts'
import { RECONCILE_MS_MAX } from './limit.ts'
import type { WorkQueue } from './work-queue.ts'

export interface WorkerOptions {
  readonly queue: WorkQueue
  readonly workers: number
  /**
   * Brings the cluster and Redis in line with one object, from any state. Running it twice is safe. The signal aborts when it takes too
   * long or when the operator stops. No other worker has the key until it resolves or rejects. Returns after how many milliseconds to
   * reconcile the object again, even without a change. Each error is retried: a fault of the object itself is a condition, not an error.
   */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<number | undefined>
  readonly meter: Pick<ControllerMeter, 'busy' | 'reconciled'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Works until the queue is closed, and then finishes the running reconciles. Aborting the signal also ends these. Resolves in both cases.
 */
export async function runWorkers(options: WorkerOptions, signal: AbortSignal): Promise<void> {
  await Promise.all(Array.from({ length: options.workers }, () => runWorker(options, signal)))
}

async function runWorker(options: WorkerOptions, signal: AbortSignal): Promise<void> {
  const { queue } = options
  while (!signal.aborted) {
    const key = await queue.take(signal).catch((error: unknown) => {
      if (signal.aborted) return undefined
      throw error
    })
    if (key === undefined) return
    try {
      await processKey(key, options, signal)
    } finally {
      queue.done(key)
    }
  }
}

async function processKey(key: string, options: WorkerOptions, signal: AbortSignal): Promise<void> {
  const { queue, reconcile, meter, clock, log } = options
  using _busy = meter.busy()
  const startedAt = clock.monotonic()
  const durationMs = () => clock.monotonic() - startedAt
  using limited = firstAborted([signal, clock.timeout(RECONCILE_MS_MAX)])
  try {
    const requeueAfterMs = await reconcile(key, limited.signal)
    queue.forget(key)
    if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs)
    meter.reconciled(requeueAfterMs === undefined ? 'success' : 'requeue_after', durationMs())
  } catch (err) {
    meter.reconciled('error', durationMs())
    // A retry is useless when the operator stops.
    if (signal.aborted) return
    log.warn({ err, key, waitMs: queue.retry(key) }, 'reconcile failed')
  }
}
