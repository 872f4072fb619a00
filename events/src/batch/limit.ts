/** Limits of looking after batches, each with its unit and the reason for its value. */

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** How often open batches are listed: one call, and only for those whose API process died, or whose last event nobody noticed. */
export const BATCHES_LISTED_EVERY_MS = 60 * SECOND_MS

/** How long after its acceptance the renders of a batch are left to the API process that accepted it. */
export const BATCH_QUEUED_BY_API_MS = 30 * SECOND_MS

/** Shortest time between two looks at the same batch: many of its renders may end in a second. */
export const BATCH_LOOKED_AT_EVERY_MS = SECOND_MS / 2

/** Batches that are looked at together. */
export const BATCHES_AT_ONCE = 4

/** Manifests that are read together for one batch. A store serves hundreds at once. */
export const MANIFESTS_AT_ONCE = 32

/** Open batches whose ended renders a process remembers. Each takes some 40 KiB at most; others are counted again. */
export const BATCHES_REMEMBERED_MAX = 200

/** When the sign of an open batch is removed that was never accepted. No request takes nearly as long. */
export const UNACCEPTED_KEPT_MS = HOUR_MS
