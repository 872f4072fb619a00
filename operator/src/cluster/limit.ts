/** The limits of requests to the API server, of watches and of the lease, each with its unit and the reason for its value. */
import type { BackOff } from '@platen/contract/back-off.ts'

const SECOND_MS = 1000
const MIB = 1024 * 1024

/** Longest request to the API server, its answer included: a page of the largest objects takes seconds. */
export const CLUSTER_REQUEST_MS_MAX = 30 * SECOND_MS

/** Concurrent requests to the API server, without watches. More would not be answered sooner, and other clients need their share. */
export const CLUSTER_REQUESTS_MAX = 32

/**
 * How often a request is repeated when the API server is busy, and the longest wait it may ask for. For a longer wait, the caller gets
 * the error and decides.
 */
export const CLUSTER_BUSY_RETRIES_MAX = 3
export const CLUSTER_BUSY_MS_MAX = 5 * SECOND_MS

/** How long an idle connection to the API server is kept. The API server closes it after 90 seconds. */
export const CLUSTER_IDLE_SOCKET_MS = 60 * SECOND_MS

/** Bytes of one answer. A larger list is requested again in smaller pages. */
export const CLUSTER_ANSWER_BYTES_MAX = 32 * MIB

/** Bytes of one watch event: etcd accepts objects of 1.5 MiB, and JSON may need twice as much. */
export const WATCH_EVENT_BYTES_MAX = 4 * MIB

/** Objects per page of a list, the usual value of Kubernetes clients. Parsing a page blocks the event loop for some ten milliseconds. */
export const LIST_PAGE_OBJECTS = 500

/** How long the API server keeps a watch open. The request names a random time between the two, so that watches do not end together. */
export const WATCH_MS_MIN = 240 * SECOND_MS
export const WATCH_MS_MAX = 300 * SECOND_MS

/** A watch that is silent for this long counts as dead, and is resumed. Bookmarks come every minute. */
export const WATCH_IDLE_MS_MAX = 90 * SECOND_MS

/** A watch that ends sooner without an event counts as failed. To reopen it at once would flood the API server. */
export const WATCH_MS_EXPECTED = SECOND_MS

/** Wait before a list or watch is tried again after a failure. After a cut connection, the API server is usually back at once. */
export const WATCH_BACK_OFF: BackOff = { msMin: 25, msMax: 30 * SECOND_MS }

/** Consecutive refusals of a watch before everything is listed again: the API server may have lost the version we resume from. */
export const WATCHES_REFUSED_MAX = 5

/**
 * A lease that does not change for LEASE_MS has expired. Its holder stops LEASE_HELD_MS_MAX after its last renewal. Holders renew, and
 * candidates ask, every LEASE_RETRY_MS. These are the usual values of Kubernetes. The difference of the first two covers clock drift and
 * slow requests.
 */
export const LEASE_MS = 15 * SECOND_MS
export const LEASE_HELD_MS_MAX = 10 * SECOND_MS
export const LEASE_RETRY_MS = 2 * SECOND_MS

/** Largest random addition to the wait of candidates, as a share of the wait, so that they do not ask together. */
export const LEASE_JITTER_MAX = 0.2

/** Longest wait for the release of a lease. If it fails, the lease expires by itself, only later. */
export const LEASE_RELEASE_MS_MAX = 3 * SECOND_MS
