/** Limits of the embedded database, each with its unit and the reason for its value. */

/** Commands that share one commit of the embedded database: so many that the flush hardly counts, so few that none waits long. */
export const COMMANDS_PER_COMMIT_MAX = 256

/** Calls that may wait for the embedded database. Above it they are refused at once, so that they do not pile up in memory. */
export const DATABASE_CALLS_MAX = 10_000

/** Rows pruned at once: a few milliseconds, because commands of renders wait meanwhile. */
export const PRUNE_ROWS_MAX = 1000

/** Events a reader fetches at once: each look may wait for the flush of a commit. */
export const EVENT_PREFETCH = 256
