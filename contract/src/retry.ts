/** Retries a call to a port that cannot be reached, for callers that must not give up. */
import type { Clock } from './port/clock.ts'
import type { Log } from './port/log.ts'
import { Unavailable } from './port/unavailable.ts'

/** First wait after a port could not be reached. It doubles up to `RETRY_MS_MAX`, or the caller's maximum. */
const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 30_000

interface RetryOptions {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  readonly waitMsMax?: number
}

/** Repeats an idempotent step while it throws `Unavailable`. Rejects with the signal's reason, or with any other error of the step. */
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
