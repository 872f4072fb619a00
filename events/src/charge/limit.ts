const SECOND_MS = 1000

/** How long a call may take that waits behind all events applied at a time. No request waits for it. */
export const PROJECTION_CALL_MS_MAX = 2 * SECOND_MS

/** How often the charges of accounts are checked for losses. A thousand accounts cost Redis about ten milliseconds. */
export const CHARGES_AUDITED_EVERY_MS = 10 * SECOND_MS
