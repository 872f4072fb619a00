const SECOND_MS = 1000

/** Wait before an inconclusive publish check is repeated, for example after the machine was too busy. */
export const CHECK_AGAIN_MS = 60 * SECOND_MS
