/** A clock for whose patience nobody has the time. */
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { Clock } from '@platen/contract/port/clock.ts'

/** Waits a twentieth of what it is told to: what is waited for is only somebody's patience. */
export function hurriedClock(): Clock {
  const clock = systemClock()
  return { ...clock, sleep: (ms, signal) => clock.sleep(ms / 20, signal) }
}
