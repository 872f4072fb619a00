/** Limits of looking after batches, each with its unit and the reason for its value. */

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** How often open batches are listed: one call, and only for those whose API process died, or whose last event nobody noticed. */
export const BATCHES_LISTED_EVERY_MS = 60 * SECOND_MS

/** How long after its acceptance the renders of a batch are left to the API process that accepted it. */
export const BATCH_QUEUED_BY_API_MS = 30 * SECOND_MS

/** When the sign of an open batch is removed that was never accepted. No request takes nearly as long. */
export const UNACCEPTED_KEPT_MS = HOUR_MS
