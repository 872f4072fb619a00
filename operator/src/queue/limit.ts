/** The limits of the work queue, each with its unit and the reason for its value. */
import type { BackOff } from '@platen/lib/back-off.ts'

const SECOND_MS = 1000

/** Wait before a failed key is reconciled again. A conflict is over at once, and a service that is away for long is not asked often. */
export const RECONCILE_BACK_OFF: BackOff = { msMin: 50, msMax: 60 * SECOND_MS }

/** Longest reconcile of one object, all its requests included. After it the reconcile fails, and is tried again. */
export const RECONCILE_MS_MAX = 30 * SECOND_MS
