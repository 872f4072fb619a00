/** Time and randomness in one place, so that tests can replace both. */
export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds since an arbitrary moment. Never goes back. */
  readonly monotonic: () => number
  /** At least 0 and less than 1. */
  readonly random: () => number
  /** Rejects with the signal's reason when the signal aborts first. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Aborts after `ms` milliseconds. */
  readonly timeout: (ms: number) => AbortSignal
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  // Node accepts whole milliseconds only.
  timeout: (ms) => AbortSignal.timeout(Math.ceil(ms)),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal.reason)
      }
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      signal.addEventListener('abort', onAbort, { once: true })
    }),
}
