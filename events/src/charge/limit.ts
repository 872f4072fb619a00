/** Limits of the views in Redis, each with its unit and the reason for its value. */

const SECOND_MS = 1000

/**
 * Events applied to the views at a time. They share calls: about ten microseconds of Redis for each event of a hundred accounts, and thirty
 * if each is of another account. So callers of the limiter wait ten to thirty milliseconds.
 */
export const PROJECTED_AT_ONCE = 1000

/** How often the charges of accounts are checked for losses. A thousand accounts cost Redis about ten milliseconds. */
export const CHARGES_AUDITED_EVERY_MS = 10 * SECOND_MS
