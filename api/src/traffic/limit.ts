const KIB = 1024

/** Minimum size that a chunk of a body counts as, because each chunk is a separate event, however small. */
export const BODY_PIECE_BYTES_MIN = KIB

/**
 * Share of a process's connections for callers who wait for the end of a render: all together, and those of one account. Others must be
 * able to connect, and eight accounts to wait, whatever one of them does.
 */
export const WAITS_SHARE = 1 / 4
export const WAITS_OF_ACCOUNT_SHARE = 1 / 32
