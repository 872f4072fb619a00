/** Limits of the embedded database, each with its unit and the reason for its value. */

/** Commands that share one commit of the embedded database: so many that the flush hardly counts, so few that none waits long. */
export const COMMANDS_PER_COMMIT_MAX = 256

/** Rows pruned at once: a few milliseconds, because commands of renders wait meanwhile. */
export const PRUNE_ROWS_MAX = 1000
