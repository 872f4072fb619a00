/** The limits of the operator, each with its unit and the reason for its value. */
import type { BackOff } from '@platen/contract/back-off.ts'

const SECOND_MS = 1000
const MIB = 1024 * 1024

/** Wait before a failed key is reconciled again. A conflict is over at once, and a service that is away for long is not asked often. */
export const RECONCILE_BACK_OFF: BackOff = { msMin: 50, msMax: 60 * SECOND_MS }

/** How often the leader looks whether its seal keys changed. The file of a key is read as often. */
export const SEAL_KEYS_CHECK_MS = 5 * SECOND_MS

/** Longest reconcile of one object, all its requests included. After it the reconcile fails, and is tried again. */
export const RECONCILE_MS_MAX = 30 * SECOND_MS

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

/** How long running reconciles may take to finish when the operator stops. */
export const RECONCILE_DRAIN_MS = 20 * SECOND_MS

/** How often all published settings are compared with Redis. A manual change in Redis is found within this time. */
export const DIRECTORY_AUDIT_MS = 60 * SECOND_MS

/**
 * Tenants whose usage is read at once, and how often. So 10,000 tenants take 500 seconds, Redis has 20 short calls a second more, and the
 * API server never has more than 20 writes of usage a second.
 */
export const USAGE_READS_AT_ONCE = 20
export const USAGE_READ_EVERY_MS = SECOND_MS

/**
 * When other figures of a tenant are worth a write: a minute after the last at the earliest; from then on if its units grew by this share
 * or it reached its limit; and after an hour in any case. So a tenant that is always busy costs 25 to 60 writes a day.
 */
export const USAGE_SHOWN_MS_MIN = 60 * SECOND_MS
export const USAGE_STEP = 0.05
export const USAGE_EXACT_AFTER_MS = 3600 * SECOND_MS

/** How often figures that stay the same are written again, so that their time tells whether usage can be read. */
export const USAGE_CONFIRMED_EVERY_MS = 24 * 3600 * SECOND_MS

/**
 * How often the operator looks how far an erasure is, at first and at last: after a tenth of its age. Most are over within minutes, some
 * after eight days. An Erasure without its tenant is looked at as often.
 */
export const ERASURE_POLL_MS_MIN = 5 * SECOND_MS
export const ERASURE_POLL_MS_MAX = 600 * SECOND_MS

/** Erasures that are looked at together. Each waits for one request to the artifact store. */
export const ERASURE_WORKERS = 4

/** Longest wait before a finished Erasure is looked at again. A timer cannot be longer than 24 days. */
export const ERASURE_IDLE_MS_MAX = 24 * 3600 * SECOND_MS

/** Wait before an inconclusive publish check is repeated, for example after the machine was too busy. */
export const CHECK_AGAIN_MS = 60 * SECOND_MS

/** Concurrent reconciles of one kind. When one kind is slow, the other kinds still have workers. */
export const RECONCILE_WORKERS_OF_ONE_KIND = (RECONCILE_WORKERS * 3) / 4
