/** Every ceiling of what goes through Redis, with its unit and the reason for its value; those of everything else are in `limit.ts`. */

const SECOND_MS = 1000

/** Calls that may wait for Redis; past it they are refused at once instead of piling up in memory. */
export const REDIS_CALLS_MAX = 10_000

/** How long a connection to Redis may take, or stay silent while something is asked of it: a reachable one takes milliseconds. */
export const REDIS_CONNECT_MS_MAX = 2 * SECOND_MS

/** Longest pause between two tries to connect again: Redis is missed soon after it is back, and its start is not stormed. */
export const REDIS_RECONNECT_MS_MAX = 2 * SECOND_MS

/** How long Redis keeps what was said about a sync render: longer than the longest deadline with its waits, as nobody asks later. */
export const REPLY_KEPT_MS = 180 * SECOND_MS

/** The pieces in which a PDF goes through Redis: one value of 9 MB takes both ends twice as long as nine of 1 MB. */
export const REPLY_PART_BYTES_MAX = 1024 * 1024

/** How long a call to Redis may take that carries pieces of a PDF. */
export const REPLY_CALL_MS_MAX = 10 * SECOND_MS
