import type { Instant } from './brand.ts'

/** Wall time for records, monotonic time for durations; both in milliseconds. */
export interface Clock {
  now(): Instant
  /** Never goes back. Its zero has no meaning. */
  monotonic(): number
  /** Rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Aborts with a `TimeoutError` after `ms`, or little later. Does not keep the process alive, and may be shared. */
  timeout(ms: number): AbortSignal
}
