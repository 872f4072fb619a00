/** Workers, who look at one object after the other and try again what failed. */
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { ControllerMeter } from '@platen/contract/port/operator-meter.ts'
import { RECONCILE_MS_MAX } from '../limit.ts'
import type { WorkQueue } from './work-queue.ts'

/** What no retry mends: the object is looked at again when something changes. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError'
}

/** What is to follow a look that came to its end. */
export interface Requeue {
  /** The object is looked at again after this, whatever happens. */
  readonly requeueAfterMs?: number
}

export interface WorkerOptions {
  readonly queue: WorkQueue
  /** How many objects are looked at at once. */
  readonly workers: number
  /**
   * Brings the world in line with one object, from whatever state; it may be run twice. The signal aborts when it takes too long, or is
   * no longer wanted; the object is with nobody else until it has settled. Throws `TerminalError` where a retry is of no use.
   */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Requeue | undefined>
  readonly meter: Pick<ControllerMeter, 'busy' | 'reconciled' | 'failedTerminally'>
  readonly clock: Clock
  readonly log: Log
}

/** Works until the queue is closed, and then ends what is in hand. Aborting the signal ends that too; it resolves all the same. */
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
  try {
    const requeue = await reconcile(key, AbortSignal.any([signal, clock.timeout(RECONCILE_MS_MAX)]))
    queue.forget(key)
    const { requeueAfterMs } = requeue ?? {}
    if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs)
    meter.reconciled(requeueAfterMs === undefined ? 'success' : 'requeue_after', durationMs())
  } catch (err) {
    meter.reconciled('error', durationMs())
    // Whoever stops has no use for a retry.
    if (signal.aborted) return
    if (err instanceof TerminalError) {
      queue.forget(key)
      meter.failedTerminally()
      log.error({ err, key }, 'reconcile failed for good')
      return
    }
    log.warn({ err, key, waitMs: queue.retry(key) }, 'reconcile failed')
  }
}
