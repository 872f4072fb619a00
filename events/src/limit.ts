/** Limits of what is made from the event log in Redis, each with its unit and the reason for its value. */

/** Wait before a projection step that could not reach its stores is retried. Its result is wanted as soon as they are back. */
export const PROJECTION_RETRY_MS = 1000
