/** Time and chance, in one place, so that the tests of everything else bring their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds since some moment; never set back. */
  readonly monotonic: () => number
  /** At least 0 and less than 1. */
  readonly random: () => number
  /** Rejects with the signal's reason when that aborts first. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Aborts after so long. */
  readonly timeout: (ms: number) => AbortSignal
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  // Whole milliseconds are all that Node takes.
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
