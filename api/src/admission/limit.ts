import { PORT_CALL_MS_MAX } from '../limit.ts'

const SECOND_MS = 1000

/** A sync render that no renderer claims within this time is abandoned: 503. */
export const SYNC_START_MS_MAX = 10 * SECOND_MS

/** How long a sync caller waits beyond the render's own deadline, so that the answer can arrive. */
export const SYNC_REPLY_MARGIN_MS = 3 * SECOND_MS

/**
 * How long a request with an `Idempotency-Key` may take, beyond the wait for its render: each of its calls takes its full time, and clocks
 * differ. The process of an older request has died.
 */
export const IDEMPOTENCY_UNDER_WAY_MS = 6 * PORT_CALL_MS_MAX

/**
 * How long a duplicate of a sync request waits for the outcome of the first. A caller gets its PDF before the outcome is stored, and may
 * repeat the request at once.
 */
export const IDEMPOTENCY_SETTLE_MS = SECOND_MS

/** After this, the process of the first request may be gone, and `Retry-After` says when the key is free at the latest. */
export const IDEMPOTENCY_YOUNG_MS = 5 * SECOND_MS

/**
 * Shortest and longest wait between two checks for the outcome of a sync render whose reply may be lost, and the wait as a share of the
 * time so far. Quick renders are found soon, and the longest wait costs the store about fifty calls.
 */
export const OUTCOME_POLL_MS_MIN = 20
export const OUTCOME_POLL_MS_MAX = SECOND_MS
export const OUTCOME_POLL_SHARE = 0.25
