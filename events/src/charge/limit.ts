/** Limits of the views in Redis, each with its unit and the reason for its value. */

const SECOND_MS = 1000

/**
 * Events applied to the views at a time, which share calls: what one fetch of the log brings. Ten microseconds of Redis for each event of a
 * hundred accounts, and thirty if each is of another account.
 */
export const PROJECTED_AT_ONCE = 1500

/** How long a call may take that waits behind all events that are applied at a time. No request waits for it. */
export const PROJECTION_CALL_MS_MAX = 2 * SECOND_MS

/** How often the charges of accounts are checked for losses. A thousand accounts cost Redis about ten milliseconds. */
export const CHARGES_AUDITED_EVERY_MS = 10 * SECOND_MS
