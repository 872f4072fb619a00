const SECOND_MS = 1000

/** Longest reconcile of one object, including all its requests. Then the reconcile fails, and is tried again. */
export const RECONCILE_MS_MAX = 30 * SECOND_MS
