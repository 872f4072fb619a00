const SECOND_MS = 1000
const KIB = 1024
const MIB = 1024 * KIB

/** A claim expires when its owner has not renewed it for this long. */
export const CLAIM_LEASE_MS = 15 * SECOND_MS

/** Three renewals per lease, so that two lost renewals do no harm. */
export const CLAIM_RENEW_MS = CLAIM_LEASE_MS / 3

/**
 * How often a running render is checked for a cancellation: so it is stopped within a second. Most renders end before their first check.
 */
export const CANCELED_POLL_MS = SECOND_MS / 2

/** How often a render that another renderer holds is checked, so that its sync caller still waits when it is released. */
export const HELD_POLL_MS_MAX = SECOND_MS

/** Sync renders that a worker buffers to serve tenants in turn: more than arrive while one waits. A record has some KiB, at most 200. */
export const SYNC_BUFFERED_MAX = 256

/**
 * The pause of a caller that sends sync renders one after the other. An async render that began in this pause would share the cores with
 * the next sync one. Html renders beside sixty queued ones took 1.7 times as long as alone without this, and 1.2 times with it. If only one
 * async render may run beside sync ones, the next one begins after the same pause: with 220 queued, p95 of the sync ones was then 1.4 times
 * that alone, not 1.6.
 */
export const SYNC_PAUSE_MS_MAX = 20

/** Longest wait before a slot retries a step it depends on. Keeps the delay short after a store is back. */
export const STORE_RETRY_MS_MAX = 2 * SECOND_MS

/**
 * Renders per slot that are stored outside of the slots. Storing takes three round trips to S3 and Kafka, often longer than making a small
 * document. There are few, because after a crash of the process all of them are rendered again.
 */
export const STORING_PER_SLOT_MAX = 4

/**
 * The same for sync renders. Their callers have their PDFs, and the next callers would wait for the disk: now and then a flush takes half a
 * second, in which two slots make fifty small documents.
 */
export const SYNC_STORING_PER_SLOT_MAX = 16

/** Bytes of an engine's PDFs that are stored outside of the slots. A larger PDF keeps its slot until it is stored. */
export const STORING_BYTES_MAX = 32 * MIB

/** Storing takes longer than this only while a store is overloaded or unavailable. */
export const STORE_SLOW_MS = SECOND_MS
