/** Every ceiling of webhooks, with its unit and the reason for its value; those of everything else are in `limit.ts`. */

const KIB = 1024
const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** Characters of `webhook_url`: what browsers and proxies agree to carry. */
export const WEBHOOK_URL_CHARS_MAX = 2048

/** How long one call of a webhook receiver may take in all, from the look-up of its name to its status line. */
export const WEBHOOK_ATTEMPT_MS_MAX = 10 * SECOND_MS

/** How long the body of a receiver's answer is read, and how much of it is kept: enough for an error message. */
export const WEBHOOK_EXCERPT_MS_MAX = SECOND_MS
export const WEBHOOK_EXCERPT_BYTES_MAX = 4 * KIB

/** Bytes of the headers of a receiver's answer. */
export const WEBHOOK_HEADER_BYTES_MAX = 16 * KIB

/** How long after the end of an attempt that failed the next one follows. Their number is the number of retries. */
export const WEBHOOK_RETRY_MS = [1, 5, 30, 300, 1800].map((seconds) => seconds * SECOND_MS)

/** How much later an attempt may be, as a share of its wait, so that those that failed together do not come back together. */
export const WEBHOOK_JITTER_MAX = 0.1

/** Attempts of one delivery that are shown: more than there are of a schedule. */
export const WEBHOOK_ATTEMPTS_KEPT_MAX = 50

/** Attempts of one delivery that are asked for and not yet made. */
export const WEBHOOK_REDELIVERIES_MAX = 10

/** Calls of receivers at once: in all, for one tenant, and of one host that answers well. */
export const WEBHOOK_CALLS_MAX = 256
export const WEBHOOK_CALLS_PER_TENANT_MAX = 128
export const WEBHOOK_CALLS_PER_HOST_MAX = 8

/** Calls at once of a host that nothing is known of. */
export const WEBHOOK_CALLS_OF_NEW_HOST = 2

/** Hosts whose pace is remembered. Beyond them, those that have nothing to do are forgotten. */
export const WEBHOOK_HOSTS_KNOWN_MAX = 10_000

/** Events read between two notes of how far they are read: as many are read again after a crash, at most. */
export const WEBHOOK_EVENTS_PER_COMMIT = 256

/** A host that takes longer than this to answer is slow: it gets one call at a time. */
export const WEBHOOK_SLOW_MS = SECOND_MS

/** Due deliveries fetched at a time: enough that a busy log is asked seldom, few beside those that wait in memory. */
export const WEBHOOK_DUE_PREFETCH = 256

/** Due deliveries that wait in memory for a call, in all and for one host; what is beyond is put off on the disk. */
export const WEBHOOK_WAITING_MAX = 4096
export const WEBHOOK_WAITING_PER_HOST_MAX = 64

/** How long a delivery is put off that finds no room, at least and at most. */
export const WEBHOOK_DEFER_MS_MIN = SECOND_MS
export const WEBHOOK_DEFER_MS_MAX = 60 * SECOND_MS

/** How often a delivery whose tenant has no webhook secret looks for it again: the rarer the longer it waits, as there may be many. */
export const WEBHOOK_SECRET_RETRY_MS_MIN = 30 * SECOND_MS
export const WEBHOOK_SECRET_RETRY_MS_MAX = 600 * SECOND_MS

/** How long the webhook secret from before a rotation still signs. */
export const WEBHOOK_SECRET_OVERLAP_MS = 24 * HOUR_MS

/** Webhook secrets of one tenant that sign at once, the current one and those before it: each adds 48 bytes to every request. */
export const WEBHOOK_SECRETS_MAX = 8

/** Characters of a webhook secret: fewer could be guessed, and more add nothing to an HMAC of 256 bits. */
export const WEBHOOK_SECRET_CHARS_MIN = 24
export const WEBHOOK_SECRET_CHARS_MAX = 512

/** Rotations of one tenant's webhook secret that are remembered, so that none is made twice: more than anyone goes back in a manifest. */
export const WEBHOOK_ROTATIONS_KEPT_MAX = 32

/** Files of webhook secrets that are read or made at once: the disk flushes several as quickly as one. */
export const WEBHOOK_SECRET_FILES_AT_ONCE = 32

/** Objects of deliveries that are read or made at once: a store at a distance answers many as quickly as one. */
export const WEBHOOK_OBJECTS_AT_ONCE = 32

/** Reminders of one rung that are watched in memory, from its head on: enough that what ripens together is passed on together. */
export const WEBHOOK_DELAY_HELD_MAX = 256

/** A wait that is this much shorter than a rung still goes there: the time it takes to write down an attempt is none to climb down for. */
export const WEBHOOK_DELAY_SLACK_MS = 250
