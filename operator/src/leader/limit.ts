const SECOND_MS = 1000

/** How often the leader checks whether its seal keys changed. The file of a key is read as often. */
export const SEAL_KEYS_CHECK_MS = 5 * SECOND_MS

/** How often all published settings are compared with Redis. A manual change in Redis is found within this time. */
export const DIRECTORY_AUDIT_MS = 60 * SECOND_MS

/**
 * Tenants whose usage is read at once, and how often. So 10,000 tenants take 500 seconds, Redis gets 20 more short calls a second, and the
 * API server at most 20 writes of usage a second.
 */
export const USAGE_READS_AT_ONCE = 20
export const USAGE_READ_EVERY_MS = SECOND_MS

/**
 * When changed figures of a tenant are worth a write: not before a minute after the last; from then on if its units grew by this share or
 * it reached its limit; and after an hour in any case. So a tenant that is always busy costs 25 to 60 writes a day.
 */
export const USAGE_SHOWN_MS_MIN = 60 * SECOND_MS
export const USAGE_STEP = 0.05
export const USAGE_EXACT_AFTER_MS = 3600 * SECOND_MS

/** How often unchanged figures are written again, so that their time tells whether usage can be read. */
export const USAGE_CONFIRMED_EVERY_MS = 24 * 3600 * SECOND_MS
