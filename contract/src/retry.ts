/** How whoever must not give up waits for a port that cannot be reached. */
import type { Clock } from './port/clock.ts'
import type { Log } from './port/log.ts'
import { Unavailable } from './port/unavailable.ts'

/** First wait after a port could not be reached, doubled up to `RETRY_MS_MAX`, or what the caller says. */
const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 30_000

interface RetryOptions {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  readonly waitMsMax?: number
}

/** Repeats a step that may be run twice for as long as it throws `Unavailable`. Rejects with the signal's reason when that aborts a wait, and with what else the step throws. */
export async function retryWhileUnavailable<T>(step: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, log, signal, waitMsMax = RETRY_MS_MAX } = options
  for (let waitMs = RETRY_MS_MIN; ; waitMs = Math.min(waitMs * 2, waitMsMax)) {
    try {
      return await step()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      log.warn({ err: error, waitMs }, 'port unavailable, retrying')
      await clock.sleep(waitMs, signal)
    }
  }
}
