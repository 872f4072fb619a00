/** Limits of the views in Redis, each with its unit and the reason for its value. */

const SECOND_MS = 1000

/** Events applied to the views at a time, in two calls of about 20 µs each: callers of the limiter wait less than ten milliseconds. */
export const PROJECTED_AT_ONCE = 200

/** How often the charges of accounts are checked for losses. A thousand accounts cost Redis about ten milliseconds. */
export const CHARGES_AUDITED_EVERY_MS = 10 * SECOND_MS
