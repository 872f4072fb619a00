/** The clock of the machine. */
import { performance } from 'node:perf_hooks'
import type { Clock } from '@platen/contract/port/clock.ts'

/** The longest delay of a Node timer: a longer one would fire at once. */
const DELAY_MS_MAX = 2 ** 31 - 1

/** The clock of a running service. Waits of more than 24.8 days end after 24.8 days. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep,
    timeout: (ms) => AbortSignal.timeout(delayOf(ms)),
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  // Not `node:timers/promises`: it rejects with an error of its own instead of the signal's reason.
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, delayOf(ms))
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

/** Rounds up to whole milliseconds, so that no timer fires early. */
function delayOf(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), DELAY_MS_MAX)
}
