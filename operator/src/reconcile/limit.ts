/** The limits of publishing and statuses, each with its unit and the reason for its value. */

const SECOND_MS = 1000

/** Wait before settings that could not be published are tried again, if nothing else triggers a publish before. */
export const PUBLISH_RETRY_MS = SECOND_MS

/** Longest wait of the publication before it checks the clock again. A timer cannot be longer than 24 days. */
export const PUBLICATION_IDLE_MS_MAX = 3600 * SECOND_MS

/**
 * How often the operator reads which revision every process enforces, while a resource waits for one. The interval grows with the wait.
 */
export const ENFORCED_POLL_MS = 25
export const ENFORCED_POLL_MS_MAX = SECOND_MS

/**
 * How long a status write waits for the resource to be enforced. Most resources are enforced within this time, so one write reports both.
 */
export const STATUS_ENFORCED_WAIT_MS = 250

/** Longest wait of a removed resource for processes that still enforce it. A process that cannot be reached no longer counts by then. */
export const REVOKED_MS_MAX = 15 * SECOND_MS

/** Delay of a status write that counts resources. A thousand resources that arrive at once then cost few writes. */
export const STATUS_COUNTS_DELAY_MS = SECOND_MS

/** Concurrent reconciles. Each mostly waits for the API server, and their changes are published together. */
export const RECONCILE_WORKERS = 16

/** Concurrent reconciles of one kind. When one kind is slow, the other kinds still have workers. */
export const RECONCILE_WORKERS_OF_ONE_KIND = (RECONCILE_WORKERS * 3) / 4
