/** Every ceiling of the publish check, with its unit and the reason for its value. */
import type { BackOff } from '@platen/contract/back-off.ts'

const SECOND_MS = 1000

/** How long the threads of the publish check are kept that have nothing to check: to open them takes half a second, as long as a few checks. */
export const CHECK_THREADS_IDLE_MS = 30 * SECOND_MS

/** Publish checks at once, of which one tenant has one: each has a thread of its own, of a hundred MiB. */
export const CHECKS_AT_ONCE = 2

/** How long a tenant waits for its next publish check when one came to no answer: one that hangs holds a thread for all its time, and the next may be another. */
export const CHECK_HANG_BACK_OFF: BackOff = { msMin: SECOND_MS, msMax: 600 * SECOND_MS }
