const SECOND_MS = 1000

/** Wait before unpublished settings are tried again, if nothing else triggers a publish before. */
export const PUBLISH_RETRY_MS = SECOND_MS

/** Longest wait of a removed resource for processes that still enforce it. A process that cannot be reached no longer counts by then. */
export const REVOKED_MS_MAX = 15 * SECOND_MS

/** Concurrent reconciles. Each mostly waits for the API server, and their changes are published together. */
export const RECONCILE_WORKERS = 16
