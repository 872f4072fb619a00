/** Every ceiling of a directory that is kept in a store and followed by many processes; those of everything else are in `limit.ts`. */

const KIB = 1024
const SECOND_MS = 1000

/** Bytes of one change that is published as such: what is larger replaces all, which costs the store no more and readers one load. */
export const DIRECTORY_CHANGE_BYTES_MAX = 256 * KIB

/** Changes that are kept for who follows them: with the largest, 32 MiB. Who has missed more loads all. */
export const DIRECTORY_CHANGES_KEPT_MAX = 128

/** Fields written or read in one call: a few hundred KiB, for which a store stands still for a millisecond or two. */
export const DIRECTORY_FIELDS_PER_CALL = 500

/** How long what is staged outlives a publisher that is gone: far longer than staging the next piece takes. */
export const DIRECTORY_STAGED_MS = 60 * SECOND_MS

/** How long a wait for the next change may take before the store is asked: so late is seen at most what no wait has told. */
export const DIRECTORY_WAIT_MS = SECOND_MS

/** How often a process says which revision it enforces, and how long it counts after it last did: it may miss three. */
export const DIRECTORY_REPORT_EVERY_MS = 2 * SECOND_MS
export const DIRECTORY_REPORT_KEPT_MS = 10 * SECOND_MS

/** Revisions whose marks a publisher remembers: a reader that says one of them is known to enforce it. At 20 changes a second, a minute's. */
export const DIRECTORY_REVISIONS_KNOWN_MAX = 1200

/** How long a revision lower than that in force has to stand to be believed: a watching publisher has mended by then what a replica that lagged has lost. */
export const DIRECTORY_REGRESSION_MS = 15 * SECOND_MS

/** How often a watching publisher looks whether what it published still stands: what Redis has lost is back within ten seconds. */
export const DIRECTORY_REPAIR_MS = 5 * SECOND_MS

/** How long a publisher waits for every process to enforce what it published, and how often it asks: as a rule it takes milliseconds. */
export const DIRECTORY_ENFORCED_MS_MAX = 10 * SECOND_MS
export const DIRECTORY_ENFORCED_POLL_MS = 50

/** How often a load begins anew because all was replaced under it, before it waits for the next look. */
export const DIRECTORY_LOADS_MAX = 5

/** How long the settings of a limiter are kept: far longer than it takes until every process has them from the directory. */
export const LIMITER_SETTINGS_KEPT_MS = 3600 * SECOND_MS

/** Accounts whose settings are written at a time: Redis is kept busy, and the calls of others do not wait for long. */
export const LIMITER_SETTINGS_AT_ONCE = 100
