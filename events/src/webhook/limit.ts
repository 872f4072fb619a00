const SECOND_MS = 1000

/** Maximum random delay of an attempt, as a share of its wait, so that deliveries that failed together are not retried together. */
export const WEBHOOK_JITTER_MAX = 0.1

/**
 * Concurrent calls for one tenant while no other has any: half of the 256 that tenants share. The rest of `WEBHOOK_CALLS_MAX` is for
 * tenants without a call. So even more than a hundred tenants with hanging receivers keep no other tenant from its first call.
 */
export const WEBHOOK_CALLS_PER_TENANT_MAX = 128

/** Concurrent calls to a host that has not answered yet. */
export const WEBHOOK_CALLS_OF_NEW_HOST = 2

/** Hosts whose response times are remembered. Above it, idle hosts are forgotten. */
export const WEBHOOK_HOSTS_KNOWN_MAX = 10_000

/** Events read between two commits of the position. At most twice as many are read again after a crash. */
export const WEBHOOK_EVENTS_PER_COMMIT = 256

/** A host that takes longer than this to answer is slow and gets one call at a time. */
export const WEBHOOK_SLOW_MS = SECOND_MS

/** The shortest time for which a delivery without room is deferred. */
export const WEBHOOK_DEFER_MS_MIN = SECOND_MS

/** Due deliveries that wait in memory for a call, in all and for one host. More are deferred on disk. */
export const WEBHOOK_WAITING_MAX = 4096
export const WEBHOOK_WAITING_PER_HOST_MAX = 64
