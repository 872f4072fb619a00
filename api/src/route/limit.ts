const SECOND_MS = 1000

/** Templates or renders on one page of a list: the default and the maximum. */
export const LIST_PER_PAGE_DEFAULT = 20
export const LIST_PER_PAGE_MAX = 100

/** Characters of `Idempotency-Key`: what other services accept, and room for any identifier. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255

/** `Retry-After` in seconds, of an accepted render before the first poll, and of a status that could not wait. */
export const POLL_RETRY_AFTER_S = 1

/** Longest wait for the end of a render, in seconds: below the 60 that most proxies allow for a silent server. */
export const WAIT_S_MAX = 30

/**
 * How often a waiting status is checked without a wake-up: soon enough if a wake-up is lost or Redis is unavailable, and half as often as a
 * caller that polls.
 */
export const WAIT_LOOK_MS = 2 * SECOND_MS

/** How long a `pdf_url` is valid. */
export const PDF_URL_MS = 10 * 60 * SECOND_MS

/** Test events of a tenant per minute: enough to set up a receiver, and too few to flood anybody. */
export const TEST_EVENTS_PER_MINUTE = 10

/** How long a caller waits for the attempt: the longest attempt, and some time for its turn and its record. */
export const TEST_EVENT_WAIT_MS = 15 * SECOND_MS

/** Minimum time for which the delivery of a test event is kept. */
export const TEST_EVENT_KEPT_MS = 24 * 60 * 60 * SECOND_MS
