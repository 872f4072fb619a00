/** Limits of a directory that is kept in a store and followed by many processes. All other limits are in `limit.ts`. */

const KIB = 1024
const SECOND_MS = 1000

/** Bytes of one change that is published as a change. A larger one replaces all: the store pays no more, and each reader loads once. */
export const DIRECTORY_CHANGE_BYTES_MAX = 256 * KIB

/** Changes kept for readers: 32 MiB if all are the largest. A reader that missed more loads everything. */
export const DIRECTORY_CHANGES_KEPT_MAX = 128

/** Fields written or read in one call: a few hundred KiB, which block a store for one or two milliseconds. */
export const DIRECTORY_FIELDS_PER_CALL = 500

/** How long staged data outlives a publisher that died: far longer than staging the next piece takes. */
export const DIRECTORY_STAGED_MS = 60 * SECOND_MS

/** How long a wait for the next change may take before the store is asked. A missed notification delays a change by at most this. */
export const DIRECTORY_WAIT_MS = SECOND_MS

/** How often a process reports which revision it enforces, and how long a report counts. A process may miss three. */
export const DIRECTORY_REPORT_EVERY_MS = 2 * SECOND_MS
export const DIRECTORY_REPORT_KEPT_MS = 10 * SECOND_MS

/** Revision ids that a publisher remembers, to know that a reader enforces one of them. Those of a minute at 20 changes per second. */
export const DIRECTORY_REVISIONS_KNOWN_MAX = 1200

/**
 * How long a revision lower than the one in force must persist to be believed. By then a watching publisher has repaired what a lagging
 * replica lost.
 */
export const DIRECTORY_REGRESSION_MS = 15 * SECOND_MS

/** How often a watching publisher checks that Redis still has what it published. Lost data is back within ten seconds. */
export const DIRECTORY_REPAIR_MS = 5 * SECOND_MS

/** How long a publisher waits until every process enforces what it published, and how often it asks. This usually takes milliseconds. */
export const DIRECTORY_ENFORCED_MS_MAX = 10 * SECOND_MS
export const DIRECTORY_ENFORCED_POLL_MS = 50

/** How often a load restarts because everything was replaced during it, before it waits for the next refresh. */
export const DIRECTORY_LOADS_MAX = 5

/** How long the settings of a limiter are kept: far longer than every process needs to get them from the directory. */
export const LIMITER_SETTINGS_KEPT_MS = 3600 * SECOND_MS

/** Accounts whose settings are written at a time: enough to keep Redis busy, few enough that other calls do not wait long. */
export const LIMITER_SETTINGS_AT_ONCE = 100
