import type { Instant } from '../brand.ts'

/** Time. Wall time for records, monotonic time for durations; both in milliseconds. */
export interface Clock {
  now(): Instant
  /** Never goes back; its zero means nothing. */
  monotonic(): number
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** A signal that aborts with a `TimeoutError` after `ms`; it does not keep the process alive. */
  timeout(ms: number): AbortSignal
}
