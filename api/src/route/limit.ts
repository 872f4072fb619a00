/** Limits of the routes, each with its unit and the reason for its value. */

const SECOND_MS = 1000

/** Templates on one page of the list: the default and the maximum. */
export const LIST_PER_PAGE_DEFAULT = 20
export const LIST_PER_PAGE_MAX = 100

/** Characters of `Idempotency-Key`: what other services accept, and room for any identifier. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255

/** `Retry-After` of an accepted render before the first poll, in seconds. */
export const POLL_RETRY_AFTER_S = 1

/** The part of a PDF that a reader holds in memory. Most PDFs are smaller, so they are read in one call. */
export const PDF_PIECE_BYTES_MAX = 1024 * 1024

/** How long a `pdf_url` is valid. */
export const PDF_URL_MS = 10 * 60 * SECOND_MS
