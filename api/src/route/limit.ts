/** Limits of the routes, each with its unit and the reason for its value. */

const SECOND_MS = 1000

/** Templates or renders on one page of a list: the default and the maximum. */
export const LIST_PER_PAGE_DEFAULT = 20
export const LIST_PER_PAGE_MAX = 100

/** Characters of `Idempotency-Key`: what other services accept, and room for any identifier. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255

/** `Retry-After` of an accepted render before the first poll, and of a status that could not wait, in seconds. */
export const POLL_RETRY_AFTER_S = 1

/** Longest wait for the end of a render, in seconds: below the 60 that most proxies allow for a silent server. */
export const WAIT_S_MAX = 30

/**
 * How often a status that waits is looked at without a wake-up: soon enough when a wake-up got lost or Redis is away, and half as often as
 * a caller that polls.
 */
export const WAIT_LOOK_MS = 2 * SECOND_MS

/** How long a `pdf_url` is valid. */
export const PDF_URL_MS = 10 * 60 * SECOND_MS

/** Test events of a tenant in a minute: enough to set up a receiver, and too few to flood anybody. */
export const TEST_EVENTS_PER_MINUTE = 10

/** How long a caller waits for the attempt: the whole time of one, and some for its turn and its record. */
export const TEST_EVENT_WAIT_MS = 15 * SECOND_MS

/** How long the delivery of a test event is kept, at least. */
export const TEST_EVENT_KEPT_MS = 24 * 60 * 60 * SECOND_MS
