/** Limits of what goes through Redis, each with its unit and the reason for its value. All other limits are in `limit.ts`. */
import { QUEUE_AGE_MS_MAX } from './limit.ts'

const SECOND_MS = 1000

/** Calls that may wait for Redis. Above it they are refused at once, so that they do not pile up in memory. */
export const REDIS_CALLS_MAX = 10_000

/**
 * How long a call to Redis may take that a request waits for, and a ping as well. A healthy Redis takes a millisecond, and a caller of a
 * dead one wants this short. But a busy node, or a Redis that forks, stops for some hundred milliseconds, and each false alarm makes the
 * limiter decide once without the other processes.
 */
export const REDIS_CALL_MS_MAX = 500

/** How often a process pings Redis. An outage is known at most a second later, and from then on calls fail at once. */
export const REDIS_HEALTH_CHECK_MS = 500

/** How long a call may take that carries all settings, or many of them. */
export const REDIS_SETTINGS_CALL_MS_MAX = 2 * SECOND_MS

/** How long a connection to Redis may take, or stay silent during a call. A reachable one takes milliseconds. */
export const REDIS_CONNECT_MS_MAX = 2 * SECOND_MS

/** Longest pause between two reconnects: soon enough after Redis is back, and not so often that they overload its start. */
export const REDIS_RECONNECT_MS_MAX = 2 * SECOND_MS

/**
 * How long after one process has found Redis again another may still consider it down: its pause before reconnecting, the connecting, and
 * its next ping.
 */
export const REDIS_RECENTLY_DOWN_MS =
  REDIS_RECONNECT_MS_MAX + REDIS_CONNECT_MS_MAX + REDIS_HEALTH_CHECK_MS + REDIS_CALL_MS_MAX

/** How long Redis keeps the messages of a sync render: longer than the longest deadline with its waits, after which nobody asks. */
export const REPLY_KEPT_MS = 180 * SECOND_MS

/** Size of the parts in which a PDF goes through Redis. One value of 9 MB takes both ends twice as long as nine of 1 MB. */
export const REPLY_PART_BYTES_MAX = 1024 * 1024

/** How long a call to Redis may take that carries parts of a PDF. */
export const REPLY_CALL_MS_MAX = 10 * SECOND_MS

/** Accounts and months whose usage a process remembers for an outage of Redis: some MB, and more than are busy at a time. */
export const FALLBACK_ACCOUNTS_MAX = 10_000

/**
 * Shortest and longest wait between two checks for the outcome of a sync render whose reply may be lost, and its share of the time waited
 * so far. Quick renders are found soon, and the longest wait costs the store about fifty calls.
 */
export const OUTCOME_POLL_MS_MIN = 20
export const OUTCOME_POLL_MS_MAX = SECOND_MS
export const OUTCOME_POLL_SHARE = 0.25

/** How long Redis keeps the data of a running render if its end is never reported: longer than a render can take. */
export const VIEW_KEPT_MS = 2 * QUEUE_AGE_MS_MAX

/** Events applied to the views at a time, in two calls of about 20 µs each: callers of the limiter wait less than ten milliseconds. */
export const PROJECTED_AT_ONCE = 200

/** Wait before a projection step that could not reach Redis is retried. Its result is wanted as soon as Redis is back. */
export const PROJECTION_RETRY_MS = SECOND_MS

/** How often the charges of accounts are checked for losses. A thousand accounts cost Redis about ten milliseconds. */
export const CHARGES_AUDITED_EVERY_MS = 10 * SECOND_MS
