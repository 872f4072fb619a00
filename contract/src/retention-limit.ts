/** Every ceiling of removing what is past its time, with its unit and the reason for its value; those of everything else are in `limit.ts`. */

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * MINUTE_MS

/** How often what is past its time is removed: often enough beside retention in days, and no more than a little at once. */
export const REMOVE_EVERY_MS = HOUR_MS

/** How often the claims of `Idempotency-Key`s are looked through in a cluster, where each of them costs a request. */
export const CLAIMS_REMOVED_EVERY_MS = 24 * HOUR_MS

/**
 * Renders that one object of the expiry index holds: some fifty kilobytes, and a little of what one object for each would cost. As
 * many events are read before any of them is done with; Kafka gives a thousand of a partition, and more while these are written.
 */
export const EXPIRY_RENDERS_MAX = 500

/** How long a render that has ended waits at most to be written into the expiry index: as many events are read again after a crash. */
export const EXPIRY_WRITTEN_EVERY_MS = 5 * MINUTE_MS

/** Renders of the expiry index that are removed together: each takes some six requests of a store that answers in 25 ms, so four million a day can go. */
export const RENDERS_REMOVED_AT_ONCE = 8
