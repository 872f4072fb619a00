/** Limits of connections and answers, each with its unit and the reason for its value. */

const KIB = 1024
const MIB = 1024 * KIB

/** Keys and addresses whose requests of the last minute an API process counts. Each takes about 200 bytes. */
export const KEYS_COUNTED_MAX = 10_000
export const ADDRESSES_COUNTED_MAX = 10_000

/** Minimum that a chunk of a body counts as, because each chunk is an event of its own, however small. */
export const BODY_PIECE_BYTES_MIN = KIB

/** How much of a body that is too large is read and discarded, so that a client that is still sending sees the 413. */
export const BODY_DISCARD_BYTES_MAX = 64 * MIB

/**
 * Parts of a process's connections that callers who wait for the end of a render may hold: all together, and those of one account. Others
 * must be able to connect, and eight accounts to wait, whatever one of them does.
 */
export const WAITS_SHARE = 1 / 4
export const WAITS_OF_ACCOUNT_SHARE = 1 / 32
