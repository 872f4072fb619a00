/** Every ceiling of the operator, with its unit and the reason for its value; those of everything else are in `limit.ts`. */
import type { BackOff } from './back-off.ts'

const SECOND_MS = 1000

/** How long is waited before a key is looked at again that failed: a conflict is over at once, and what is away for long is not asked often. */
export const RECONCILE_BACK_OFF: BackOff = { msMin: 50, msMax: 60 * SECOND_MS }

/** How long one look at an object may take, all its requests included: it then fails, and is tried again. */
export const RECONCILE_MS_MAX = 30 * SECOND_MS
