/**
 * Limits that several packages share. A limit of one package is in a `limit.ts` there. Limits that a plan may change (rates, quota,
 * deadline, retention) are in `tenant.ts`, as the defaults of a plan.
 */

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS
const DAY_MS = 24 * HOUR_MS
const KIB = 1024
const MIB = 1024 * KIB

/** What callers may do to one API process before a limit of their plan applies. An operator may set each. Counts are per minute. */
export interface TrafficLimits {
  /** Render requests of one API key that the plan does not count: refused ones, and replays by `Idempotency-Key`. */
  readonly keyRefusals: number
  /** Other requests of one API key, such as polling a render. */
  readonly keyRequests: number
  /** Of request bodies of one API key. */
  readonly keyBytes: number
  /** Requests of one address without a valid key: refused ones, and those for the description of the API. */
  readonly addressRefusals: number
  /** Each takes about 10 KiB. Connections above the limit are closed before they are read. */
  readonly connections: number
  /** Their `X-Forwarded-For` is trusted. Blocks such as `10.0.0.0/8`. */
  readonly trustedProxies: readonly string[]
}

/** How often a watching publisher checks that Redis still has what it published: lost data is back within ten seconds. */
export const DIRECTORY_REPAIR_MS = 5 * SECOND_MS

/** The interface says 10 MB; read as 10 MiB, so that ten million bytes are never refused. */
export const BODY_BYTES_MAX = 10 * MIB

/** A day's invoices of a shop, and few enough that one answer can be read while they run. */
export const BATCH_ITEMS_MAX = 1000

/** Larger data travels in the artifact store instead of the queue record. Keeps records far below Kafka's default of 1 MB. */
export const INLINE_DATA_BYTES_MAX = 200 * KIB

/** Nesting of a request body. Documents nest a handful deep; recursion in validators does not survive thousands. */
export const JSON_DEPTH_MAX = 64

/** All request headers together. Node answers 431 above it. */
export const HEADER_BYTES_MAX = 16 * KIB

/** As stored and shown. A template author's exception can have any length. */
export const FAILURE_MESSAGE_CHARS_MAX = 1000

/** Characters of a template code. */
export const TEMPLATE_CODE_CHARS_MAX = 128

/** Characters of `options.filename`. */
export const FILENAME_CHARS_MAX = 200

/** Room for a URN, and small enough for a key of an index. */
export const REFERENCE_CHARS_MAX = 128

/** What payment services allow, so that callers can copy their metadata over. */
export const METADATA_KEYS_MAX = 16
export const METADATA_KEY_CHARS_MAX = 40
export const METADATA_VALUE_CHARS_MAX = 500

/** PDF readers refuse more than 200 inches. */
export const PAGE_SIDE_PT_MAX = 14_400

/** About 1 cm: below it no engine can lay out a line of text. */
export const PAGE_SIDE_PT_MIN = 28

/**
 * Slots of each engine for sync renders alone, beside those for every lane. Behind hundreds of async renders, a sync render then shares the
 * cores with the running ones instead of waiting until one ends.
 */
export const SYNC_SLOTS = 1

/** Starts of a render before it fails with `render_crashed`. */
export const RENDER_ATTEMPTS_MAX = 3

/** A render that waits longer for a renderer fails with `expired`. */
export const QUEUE_AGE_MS_MAX = 24 * HOUR_MS

/** How long an `Idempotency-Key` stands for its first request. Callers that retry do so within a day. */
export const IDEMPOTENCY_MS = 24 * HOUR_MS

/** For people to inspect the record of a render that crashed its renderers. */
export const DEAD_LETTERS_KEPT_MS = 30 * DAY_MS

/** Size of a finished PDF. */
export const PDF_BYTES_MAX = 100 * MIB

/** Inline or from a ConfigMap: etcd and kubectl limit the size of objects. */
export const TEMPLATE_SOURCE_BYTES_MAX = 128 * KIB

/** A tenant's `variablesSchema` as JSON: ten times a long form, and a dozen levels of data. */
export const SCHEMA_BYTES_MAX = 64 * KIB
export const SCHEMA_DEPTH_MAX = 48

/** Sample data that callers are shown, as JSON: ten times a long form. */
export const SAMPLE_BYTES_MAX = 64 * KIB

/**
 * Weight of compiling a `variablesSchema`, as `schema/variable/variables-schema.ts` counts it. One unit is about 50 µs, so compiling takes
 * less than an eighth of a second. A schema with 200 properties that are objects of two fields each fits.
 */
export const SCHEMA_WEIGHT_MAX = 2400

/** Of one pattern in such a schema, in instructions of RE2: `.{200}` has 202. Time and memory of matching grow with it. */
export const PATTERN_SIZE_MAX = 1000

/** Of a text that is checked against a `format`. No date, address or id is longer. */
export const FORMAT_CHARS_MAX = 2048

/** Ended renders that the ledger and the limiter of one process remember, about 5 MB. Older ones are found by their manifests. */
export const LEDGER_ENDED_MAX = 10_000

/** How long an unconfirmed reservation lasts: longer than any enqueue, short enough that a crash does not hold quota for long. */
export const RESERVATION_MS = 60 * SECOND_MS

/** The window of all rates. */
export const RATE_WINDOW_MS = 60 * SECOND_MS

/** Templates of an account whose charges of a month are counted separately. Few accounts have more, and one answer shows them all. */
export const CHARGED_TEMPLATES_MAX = 200

/** Reservations between two sweeps of unused rate buckets. A sweep visits all buckets. */
export const RATE_BUCKETS_SWEPT_EVERY = 1000

/**
 * For calls to Redis that a request waits for, and for pings. A healthy Redis answers in a millisecond, and callers of a dead one want this
 * short. But a busy node, or a Redis that forks, stops for some hundred milliseconds, and each false alarm makes the limiter decide once
 * without the other processes.
 */
export const REDIS_CALL_MS_MAX = 500

/** For calls that carry all settings, or many of them. */
export const REDIS_SETTINGS_CALL_MS_MAX = 2 * SECOND_MS

/** For calls that carry parts of a PDF. */
export const REPLY_CALL_MS_MAX = 10 * SECOND_MS

/** How long Redis keeps the data of a running render whose end is never reported: longer than a render can take. */
export const VIEW_KEPT_MS = 2 * QUEUE_AGE_MS_MAX

/**
 * How long an erased render's mark stands in place of its manifest: longer than a queue keeps the record, so that no late renderer makes it
 * again.
 */
export const ERASED_KEPT_DAYS = 8

/** Expired data is removed often enough for a retention in days, and only a little at once. */
export const REMOVE_EVERY_MS = HOUR_MS

/** What browsers and proxies commonly support. */
export const WEBHOOK_URL_CHARS_MAX = 2048

/** Waits between the end of a failed attempt and the next one. There are as many retries as waits. */
export const WEBHOOK_RETRY_MS = [1, 5, 30, 300, 1800].map((seconds) => seconds * SECOND_MS)

/** Attempts of one delivery that are kept and shown: more than its schedule has. */
export const WEBHOOK_ATTEMPTS_KEPT_MAX = 50

/** Attempts of one delivery that were requested and are not yet made. */
export const WEBHOOK_REDELIVERIES_MAX = 10

/** Concurrent calls of receivers: in all, and to one host that answers well. */
export const WEBHOOK_CALLS_MAX = 384
export const WEBHOOK_CALLS_PER_HOST_MAX = 8

/**
 * How long a delivery may wait for its first attempt, and the attempt for the receiver, before the delivery is stored. Most receivers
 * answer sooner, and then only the result is stored.
 */
export const FIRST_ATTEMPT_MS_MAX = 100

/** The longest time for which a delivery without room is postponed. */
export const WEBHOOK_DEFER_MS_MAX = 60 * SECOND_MS

/** How long the webhook secret from before a rotation still signs. */
export const WEBHOOK_SECRET_OVERLAP_MS = 24 * HOUR_MS

/** Secrets that sign at once: the current one and those before it. Each adds 48 bytes to every request. */
export const WEBHOOK_SECRETS_MAX = 8
