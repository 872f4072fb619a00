import { REDIS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'

const KIB = 1024
const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** Fields written or read in one call: a few hundred KiB, which block a store for one or two milliseconds. */
export const DIRECTORY_FIELDS_PER_CALL = 500

/** How long to wait for the next change before the store is asked. A missed notification delays a change by at most this. */
export const DIRECTORY_WAIT_MS = SECOND_MS

/** How often a process reports which revision it enforces, and how long a report counts. A process may miss three. */
export const DIRECTORY_REPORT_EVERY_MS = 2 * SECOND_MS
export const DIRECTORY_REPORT_KEPT_MS = 10 * SECOND_MS

/** How often a load restarts because everything was replaced during it, before it waits for the next refresh. */
export const DIRECTORY_LOADS_MAX = 5

/** How long the settings of a limiter are kept: far longer than every process needs to get them from the directory. */
export const LIMITER_SETTINGS_KEPT_MS = 3600 * SECOND_MS

/** How long the charge total of a month is kept after its last charge: the longest month, and as long again for later queries. */
export const CHARGES_KEPT_MS = 62 * 24 * HOUR_MS

/** Renders that one call of a script ends, at about ten microseconds each: meanwhile Redis answers nobody else. */
export const ENDED_AT_ONCE = 250

/** How often a process pings Redis. An outage is known at most a second later, and from then on calls fail at once. */
export const REDIS_HEALTH_CHECK_MS = 500

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

/**
 * Estimated bytes that the list of renders takes for an account and environment. About a million renders with a reference; beyond it the
 * oldest are no longer listed. Without a bound, the metadata of one tenant could fill Redis.
 */
export const LIST_BYTES_MAX = 1024 * 1024 * KIB

/** How long a removed render is not listed again: far longer than an event takes that was read before its render was erased. */
export const LIST_REMOVED_KEPT_MS = HOUR_MS
