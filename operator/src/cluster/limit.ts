/** The limits of requests to the API server, of watches and of the lease, each with its unit and the reason for its value. */
import type { BackOff } from '@platen/lib/back-off.ts'

const SECOND_MS = 1000

/** Concurrent requests to the API server, without watches. More would not be answered sooner, and other clients need their share. */
export const CLUSTER_REQUESTS_MAX = 32

/**
 * How often a request is repeated when the API server is busy, and the longest wait it may ask for. For a longer wait, the caller gets
 * the error and decides.
 */
export const CLUSTER_BUSY_RETRIES_MAX = 3
export const CLUSTER_BUSY_MS_MAX = 5 * SECOND_MS

/** Wait before a list or watch is tried again after a failure. After a cut connection, the API server is usually back at once. */
export const WATCH_BACK_OFF: BackOff = { msMin: 25, msMax: 30 * SECOND_MS }

/**
 * A lease that does not change for LEASE_MS has expired. Its holder stops LEASE_HELD_MS_MAX after its last renewal. Holders renew, and
 * candidates ask, every LEASE_RETRY_MS. These are the usual values of Kubernetes. The difference of the first two covers clock drift and
 * slow requests.
 */
export const LEASE_MS = 15 * SECOND_MS
export const LEASE_HELD_MS_MAX = 10 * SECOND_MS
export const LEASE_RETRY_MS = 2 * SECOND_MS

/** Longest wait for the release of a lease. If it fails, the lease expires by itself, only later. */
export const LEASE_RELEASE_MS_MAX = 3 * SECOND_MS
