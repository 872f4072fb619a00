/** Every ceiling of how a worker waits, and how it goes, with its unit and the reason for its value; those of everything else are in `limit.ts`. */

const SECOND_MS = 1000

/** How often a render that another renderer holds is looked at: when that one gives it back, a sync caller still waits for it. */
export const HELD_POLL_MS_MAX = SECOND_MS

/** How many such renders wait without a slot: those that were under way in a few renderers whose partitions have changed hands. */
export const DEFERRED_RENDERS_MAX = 256

/** Sync renders that a worker has at hand to give each tenant its turn: more than come in the time that one waits. A record is some KiB, and 200 KiB at most. */
export const SYNC_BUFFERED_MAX = 256

/** How long giving a claim back may take when a renderer has to go: it lapses by itself, only later. */
export const CLAIM_RELEASE_MS_MAX = SECOND_MS

/**
 * How long a process may take to close what it has open, once its drain is over: it then ends with that open. Kubernetes kills 30
 * seconds after SIGTERM unless it is told otherwise, and a drain has 25.
 */
export const CLOSE_MS_MAX = 4 * SECOND_MS

/** Longest wait of a slot before it tries again what it cannot go on without: with it the slot is back soon after a store is. */
export const STORE_RETRY_MS_MAX = 2 * SECOND_MS
