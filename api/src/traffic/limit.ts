/** Limits of connections and answers, each with its unit and the reason for its value. */

const KIB = 1024

/** Minimum that a chunk of a body counts as, because each chunk is an event of its own, however small. */
export const BODY_PIECE_BYTES_MIN = KIB

/**
 * Parts of a process's connections that callers who wait for the end of a render may hold: all together, and those of one account. Others
 * must be able to connect, and eight accounts to wait, whatever one of them does.
 */
export const WAITS_SHARE = 1 / 4
export const WAITS_OF_ACCOUNT_SHARE = 1 / 32
