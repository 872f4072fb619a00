import { performance } from 'node:perf_hooks'
import type { Clock } from '@platen/lib/clock.ts'

/** The longest delay of a Node timer: a longer one would fire at once. */
const DELAY_MS_MAX = 2 ** 31 - 1

/** Waits of more than 24.8 days end after 24.8 days. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep,
    timeout: openTimeouts(),
  }
}

/** By how much a timeout may be late, as a share of its length. */
const LATE_SHARE = 0.01
/** Lengths whose last timeout is known. */
const LENGTHS_MAX = 100

/**
 * Timeouts of equal length that begin shortly after one another share one signal, which is never early. Each costs Node ten microseconds,
 * most of them when it fires long after the call that it limits has ended, and a request makes several.
 */
function openTimeouts(): Clock['timeout'] {
  const lasts = new Map<number, { readonly signal: AbortSignal; readonly sharedUntil: number }>()
  return (ms) => {
    const [delay, now] = [delayOf(ms), performance.now()]
    const lateMs = Math.min(Math.floor(delay * LATE_SHARE), DELAY_MS_MAX - delay)
    const last = lasts.get(delay)
    if (last !== undefined && now <= last.sharedUntil) return last.signal
    const signal = timeoutSignal(delay + lateMs)
    if (lasts.size >= LENGTHS_MAX) lasts.clear()
    if (lateMs > 0) lasts.set(delay, { signal, sharedUntil: now + lateMs })
    return signal
  }
}

/**
 * Aborts only when the data that was received until then has been read. If this process was paused, `AbortSignal.timeout` aborts before
 * that: due timers run first, and an answer that has already arrived would be too late.
 */
function timeoutSignal(ms: number): AbortSignal {
  const timeout = new AbortController()
  const abort = () => timeout.abort(new DOMException(`timed out after ${ms} ms`, 'TimeoutError'))
  setTimeout(() => setImmediate(abort), ms).unref()
  return timeout.signal
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  // Not `node:timers/promises`: it rejects with its own error instead of the signal's reason.
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
