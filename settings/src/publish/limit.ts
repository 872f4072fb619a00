/** Limits of the publish check, each with its unit and the reason for its value. */
import type { BackOff } from '@platen/contract/back-off.ts'

const SECOND_MS = 1000

/** Assets and sources that are stored at once: the disk flushes several as quickly as one. */
export const SOURCES_STORED_AT_ONCE = 8

/** How long idle threads of the publish check are kept. Opening them takes half a second, as long as a few checks. */
export const CHECK_THREADS_IDLE_MS = 30 * SECOND_MS

/**
 * How long a check may take before the next one begins beside it, on a second thread: a check that hangs delays others no longer. Opening a
 * thread takes half of this, and a check some hundredths of a second.
 */
export const CHECK_ALONE_MS_MAX = 2 * SECOND_MS

/** Publish checks at once, one per tenant. Each has a thread of its own, of a hundred MiB. */
export const CHECKS_AT_ONCE = 2

/**
 * How long a tenant waits for its next publish check after one without an answer. A check that hangs holds a thread for its full time, and
 * the next may hang, too.
 */
export const CHECK_HANG_BACK_OFF: BackOff = { msMin: 2 * SECOND_MS, msMax: 600 * SECOND_MS }

/** How long the publish check of one template may take from its turn on, including the wait for a thread. */
export const TEMPLATE_CHECK_MS_MAX = 30 * SECOND_MS
