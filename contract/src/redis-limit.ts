/** Every ceiling of what goes through Redis, with its unit and the reason for its value; those of everything else are in `limit.ts`. */
import { QUEUE_AGE_MS_MAX } from './limit.ts'

const SECOND_MS = 1000

/** Calls that may wait for Redis; past it they are refused at once instead of piling up in memory. */
export const REDIS_CALLS_MAX = 10_000

/**
 * How long a call to Redis may take that a request waits for, and a sign of life as well. A healthy Redis takes a millisecond, and
 * what waits in vain wants this short; but a node that is busy, or a Redis that forks, stands still for some hundred milliseconds,
 * and every mistake here costs a decision of the limiter that is made without the others.
 */
export const REDIS_CALL_MS_MAX = 500

/** How often a process asks Redis for a sign of life: what is away is known a second later at most, and calls fail at once from then on. */
export const REDIS_HEALTH_CHECK_MS = 500

/** How long one may take that carries all settings, or many of them. */
export const REDIS_SETTINGS_CALL_MS_MAX = 2 * SECOND_MS

/** How long a connection to Redis may take, or stay silent while something is asked of it: a reachable one takes milliseconds. */
export const REDIS_CONNECT_MS_MAX = 2 * SECOND_MS

/** Longest pause between two tries to connect again: Redis is missed soon after it is back, and its start is not stormed. */
export const REDIS_RECONNECT_MS_MAX = 2 * SECOND_MS

/**
 * How long after one process has found Redis again another may still hold it for away: its pause before it connects, the connecting,
 * and its next question.
 */
export const REDIS_RECENTLY_DOWN_MS =
  REDIS_RECONNECT_MS_MAX + REDIS_CONNECT_MS_MAX + REDIS_HEALTH_CHECK_MS + REDIS_CALL_MS_MAX

/** How long Redis keeps what was said about a sync render: longer than the longest deadline with its waits, as nobody asks later. */
export const REPLY_KEPT_MS = 180 * SECOND_MS

/** The pieces in which a PDF goes through Redis: one value of 9 MB takes both ends twice as long as nine of 1 MB. */
export const REPLY_PART_BYTES_MAX = 1024 * 1024

/** How long a call to Redis may take that carries pieces of a PDF. */
export const REPLY_CALL_MS_MAX = 10 * SECOND_MS

/** Accounts and months of which a process remembers what was used, for while Redis is away: some MB, and more than are busy at a time. */
export const FALLBACK_ACCOUNTS_MAX = 10_000

/**
 * How long is waited at least and at most between two looks for the outcome of a sync render whose reply may not come, and for which
 * part of what was waited already: what is quick is found soon, and the longest wait costs the store some fifty calls.
 */
export const OUTCOME_POLL_MS_MIN = 20
export const OUTCOME_POLL_MS_MAX = SECOND_MS
export const OUTCOME_POLL_SHARE = 0.25

/** How long Redis keeps what it knows of a render that is under way, whoever forgets to say that it has ended: longer than one can be. */
export const VIEW_KEPT_MS = 2 * QUEUE_AGE_MS_MAX

/** Events that are put into the views at a time: with two calls of some 20 µs each, callers of the limiter wait less than ten milliseconds behind them. */
export const PROJECTED_AT_ONCE = 200

/** The wait before a step of the projection that could not reach Redis is tried again: what it makes is wanted as soon as Redis is back. */
export const PROJECTION_RETRY_MS = SECOND_MS

/** How often it is looked whether what accounts were charged is still there. A thousand accounts cost Redis some ten milliseconds. */
export const CHARGES_AUDITED_EVERY_MS = 10 * SECOND_MS
