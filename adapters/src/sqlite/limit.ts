/** Commands that share one commit of the embedded database: enough that the flush hardly counts, few enough that none waits long. */
export const COMMANDS_PER_COMMIT_MAX = 256

/** Rows pruned at once: a few milliseconds, since commands of renders wait meanwhile. */
export const PRUNE_ROWS_MAX = 1000
