const SECOND_MS = 1000

/**
 * A lease that does not change for LEASE_MS has expired. Its holder stops LEASE_HELD_MS_MAX after its last renewal. Holders renew, and
 * candidates ask, every LEASE_RETRY_MS. These are the usual values of Kubernetes. The difference of the first two covers clock drift and
 * slow requests.
 */
export const LEASE_MS = 15 * SECOND_MS
export const LEASE_HELD_MS_MAX = 10 * SECOND_MS
export const LEASE_RETRY_MS = 2 * SECOND_MS
