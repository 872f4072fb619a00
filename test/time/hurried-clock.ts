/** A clock for tests of what is patient: it retries, polls or waits for a disk. */
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { Clock } from '@platen/lib/clock.ts'

/** Waits a twentieth of the time it is given: in a test nobody needs the patience. */
export function hurriedClock(): Clock {
  const clock = systemClock()
  return { ...clock, sleep: (ms, signal) => clock.sleep(ms / 20, signal) }
}
