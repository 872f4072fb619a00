/** The limits of the work queue, each with its unit and the reason for its value. */

const SECOND_MS = 1000

/** Longest reconcile of one object, all its requests included. After it the reconcile fails, and is tried again. */
export const RECONCILE_MS_MAX = 30 * SECOND_MS
