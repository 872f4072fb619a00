/** Every ceiling of the operator, with its unit and the reason for its value. */
import type { BackOff } from '@platen/contract/back-off.ts'

const SECOND_MS = 1000
const MIB = 1024 * 1024

/** How long is waited before a key is looked at again that failed: a conflict is over at once, and what is away for long is not asked often. */
export const RECONCILE_BACK_OFF: BackOff = { msMin: 50, msMax: 60 * SECOND_MS }

/** How long one look at an object may take, all its requests included: it then fails, and is tried again. */
export const RECONCILE_MS_MAX = 30 * SECOND_MS

/** How long one request to the API server may take, its answer included: a page of the largest objects takes seconds. */
export const CLUSTER_REQUEST_MS_MAX = 30 * SECOND_MS

/** Requests to the API server at once, watches left out: more than this it answers no sooner, and others have to be heard too. */
export const CLUSTER_REQUESTS_MAX = 32

/** How often a request is sent again that the API server had no time for, and the longest wait it may ask for in between; whoever asked waits longer by himself. */
export const CLUSTER_BUSY_RETRIES_MAX = 3
export const CLUSTER_BUSY_MS_MAX = 5 * SECOND_MS

/** How long a connection to the API server is kept that nobody uses: it closes them itself after 90 seconds. */
export const CLUSTER_IDLE_SOCKET_MS = 60 * SECOND_MS

/** Bytes of one answer: what is larger than that is asked for in smaller pages. */
export const CLUSTER_ANSWER_BYTES_MAX = 32 * MIB

/** Bytes of one event of a watch: etcd takes objects of 1.5 MiB, and JSON may need twice as many. */
export const WATCH_EVENT_BYTES_MAX = 4 * MIB

/** Objects of one page of a list, as all clients have it: parsing one takes the event loop some ten milliseconds. */
export const LIST_PAGE_OBJECTS = 500

/** How long the API server keeps a watch open: it is asked for between the two, so that watches do not end together. */
export const WATCH_MS_MIN = 240 * SECOND_MS
export const WATCH_MS_MAX = 300 * SECOND_MS

/** A watch that is silent for this long is taken for dead, and opened again where it was: bookmarks come every minute. */
export const WATCH_IDLE_MS_MAX = 90 * SECOND_MS

/** A watch that ends sooner and has brought nothing counts as failed: to open it again at once would be a storm. */
export const WATCH_MS_EXPECTED = SECOND_MS

/** How long is waited before the API server is listed or watched again after a failure: a connection that was cut is there again at once. */
export const WATCH_BACK_OFF: BackOff = { msMin: 25, msMax: 30 * SECOND_MS }

/** Watches in a row that the API server refuses before all is listed anew: it may have lost what was seen of it. */
export const WATCHES_REFUSED_MAX = 5

/**
 * A lease of which nothing has changed for this long has run out; how long its holder may hold it without having renewed it, and how
 * often it is renewed and asked for. As all of Kubernetes has it: the difference of the first two is what clocks and requests may need.
 */
export const LEASE_MS = 15 * SECOND_MS
export const LEASE_HELD_MS_MAX = 10 * SECOND_MS
export const LEASE_RETRY_MS = 2 * SECOND_MS

/** How much later it is asked for at most, as a share of the wait, so that those who wait do not ask together. */
export const LEASE_JITTER_MAX = 0.2

/** How long giving it back may take: it runs out by itself, only later. */
export const LEASE_RELEASE_MS_MAX = 3 * SECOND_MS

/** How long it takes until settings that could not be published are tried again, where nothing else is to be published. */
export const PUBLISH_RETRY_MS = SECOND_MS

/** How long the publication waits for something to do before it looks at the clock again: a timer goes no further than 24 days. */
export const PUBLICATION_IDLE_MS_MAX = 3600 * SECOND_MS

/** How often it is asked which revision every process enforces while somebody waits for one; the longer they have waited, the less. */
export const ENFORCED_POLL_MS = 25
export const ENFORCED_POLL_MS_MAX = SECOND_MS

/** How long a status waits to tell that its resource is enforced as well: most are in this time, and one write tells both. */
export const STATUS_ENFORCED_WAIT_MS = 250

/** How long a resource that is removed may wait for processes that still enforce it: one that cannot be reached is not counted by then. */
export const REVOKED_MS_MAX = 15 * SECOND_MS

/** How much later a status is written that counts resources: of a thousand that come at once it tells in a few writes. */
export const STATUS_COUNTS_DELAY_MS = SECOND_MS

/** Resources that are looked at at once: each waits for the API server most of the time, and their changes are published together. */
export const RECONCILE_WORKERS = 16

/** How long what is in hand has to end when the operator is to stop. */
export const RECONCILE_DRAIN_MS = 20 * SECOND_MS

/** How often all that was published is held against what Redis holds: whoever changes something there by hand is found out by then. */
export const DIRECTORY_AUDIT_MS = 60 * SECOND_MS

/** How long it takes until a template is checked again whose check came to no answer, as when the machine was too busy for it. */
export const CHECK_AGAIN_MS = 60 * SECOND_MS

/** Of the looks at once, those at resources of one kind: where one kind is slow to be seen to, there is somebody for the others. */
export const RECONCILE_WORKERS_OF_ONE_KIND = (RECONCILE_WORKERS * 3) / 4
