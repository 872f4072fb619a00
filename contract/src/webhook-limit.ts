/** Limits of webhooks, each with its unit and the reason for its value. All other limits are in `limit.ts`. */

const KIB = 1024
const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** Characters of `webhook_url`: what browsers and proxies commonly support. */
export const WEBHOOK_URL_CHARS_MAX = 2048

/** How long one call of a webhook receiver may take in all, from the look-up of its name to its status line. */
export const WEBHOOK_ATTEMPT_MS_MAX = 10 * SECOND_MS

/** How long the body of a receiver's answer is read, and how much of it is kept: enough for an error message. */
export const WEBHOOK_EXCERPT_MS_MAX = SECOND_MS
export const WEBHOOK_EXCERPT_BYTES_MAX = 4 * KIB

/** Bytes of the headers of a receiver's answer. */
export const WEBHOOK_HEADER_BYTES_MAX = 16 * KIB

/** Waits between the end of a failed attempt and the next one. There are as many retries as waits. */
export const WEBHOOK_RETRY_MS = [1, 5, 30, 300, 1800].map((seconds) => seconds * SECOND_MS)

/** Maximum random delay of an attempt, as a share of its wait, so that deliveries that failed together are not retried together. */
export const WEBHOOK_JITTER_MAX = 0.1

/** Attempts of one delivery that are kept and shown: more than its schedule has. */
export const WEBHOOK_ATTEMPTS_KEPT_MAX = 50

/** Attempts of one delivery that were requested and are still to be made. */
export const WEBHOOK_REDELIVERIES_MAX = 10

/** Concurrent calls of receivers: in all, for one tenant, and to one host that answers well. */
export const WEBHOOK_CALLS_MAX = 256
export const WEBHOOK_CALLS_PER_TENANT_MAX = 128
export const WEBHOOK_CALLS_PER_HOST_MAX = 8

/** Concurrent calls to a host of which nothing is known. */
export const WEBHOOK_CALLS_OF_NEW_HOST = 2

/** Hosts whose response times are remembered. Above it, idle hosts are forgotten. */
export const WEBHOOK_HOSTS_KNOWN_MAX = 10_000

/** Events read between two commits of the position: at most this many are read again after a crash. */
export const WEBHOOK_EVENTS_PER_COMMIT = 256

/** A host that takes longer than this to answer is slow and gets one call at a time. */
export const WEBHOOK_SLOW_MS = SECOND_MS

/** Due deliveries fetched at a time: so many that a busy log is asked rarely, few compared with those that wait in memory. */
export const WEBHOOK_DUE_PREFETCH = 256

/** Due deliveries that wait in memory for a call, in all and for one host. More are postponed on disk. */
export const WEBHOOK_WAITING_MAX = 4096
export const WEBHOOK_WAITING_PER_HOST_MAX = 64

/** How long a delivery without room is postponed, at least and at most. */
export const WEBHOOK_DEFER_MS_MIN = SECOND_MS
export const WEBHOOK_DEFER_MS_MAX = 60 * SECOND_MS

/**
 * How often a delivery without a webhook secret of its tenant is tried again. The interval grows with the wait, because there may be many.
 */
export const WEBHOOK_SECRET_RETRY_MS_MIN = 30 * SECOND_MS
export const WEBHOOK_SECRET_RETRY_MS_MAX = 600 * SECOND_MS

/** How long the webhook secret from before a rotation still signs. */
export const WEBHOOK_SECRET_OVERLAP_MS = 24 * HOUR_MS

/** Webhook secrets of one tenant that sign at once: the current one and those before it. Each adds 48 bytes to every request. */
export const WEBHOOK_SECRETS_MAX = 8

/** Characters of a webhook secret. Shorter ones could be guessed, and longer ones add nothing to an HMAC of 256 bits. */
export const WEBHOOK_SECRET_CHARS_MIN = 24
export const WEBHOOK_SECRET_CHARS_MAX = 512

/** Rotations of one tenant's webhook secret that are remembered, so that none is made twice: more than anyone goes back in a manifest. */
export const WEBHOOK_ROTATIONS_KEPT_MAX = 32

/** Files of webhook secrets that are read or created at once: the disk flushes several as quickly as one. */
export const WEBHOOK_SECRET_FILES_AT_ONCE = 32

/** Objects of deliveries that are read or written at once: a remote store answers many as quickly as one. */
export const WEBHOOK_OBJECTS_AT_ONCE = 32

/** Reminders of one delay topic that are held in memory, from its head on: enough that those due together are forwarded together. */
export const WEBHOOK_DELAY_HELD_MAX = 256

/**
 * A wait that is shorter than a delay topic by at most this still uses that topic. Recording an attempt takes time, which must not move it
 * to the next shorter one.
 */
export const WEBHOOK_DELAY_SLACK_MS = 250
