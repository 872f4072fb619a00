/** The limits of preparing resources, each with its unit and the reason for its value. */

const SECOND_MS = 1000

/** Wait before an inconclusive publish check is repeated, for example after the machine was too busy. */
export const CHECK_AGAIN_MS = 60 * SECOND_MS
