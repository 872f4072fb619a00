const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/**
 * How often open batches are listed. It takes one call, and finds only batches whose API process died, or whose last event nobody noticed.
 */
export const BATCHES_LISTED_EVERY_MS = 60 * SECOND_MS

/** How long after its acceptance the renders of a batch are left to the API process that accepted it. */
export const BATCH_QUEUED_BY_API_MS = 30 * SECOND_MS

/** When the `open` object of a batch that was never accepted is removed. No request takes nearly as long. */
export const UNACCEPTED_KEPT_MS = HOUR_MS
