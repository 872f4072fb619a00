import { DEAD_LETTERS_KEPT_MS } from '@platen/contract/domain/limit.ts'
import type { BackOff } from '@platen/lib/back-off.ts'

const SECOND_MS = 1000
const KIB = 1024
const DAY_MS = 24 * 3600 * SECOND_MS

/** How long events are kept, unless somebody alters the topic. The charges of a month, up to 31 days, are computed from them. */
export const KAFKA_EVENTS_KEPT_MS = 45 * DAY_MS

/** How long a broker may take to answer one request. A whole send, including retries, has `KAFKA_SEND_MS_MAX`. */
export const KAFKA_REQUEST_MS_MAX = 3 * SECOND_MS

/**
 * The same for a render that an API caller waits to have queued. The refusal comes within two seconds; half of that is for recording the
 * failure. A healthy cluster takes milliseconds. A leader that hands over before it stops takes some hundred, including retries. A cluster
 * notices a dead leader after nine seconds: no caller would wait for that.
 */
export const KAFKA_ENQUEUE_MS_MAX = SECOND_MS

/** First and longest wait before a broker operation is retried. */
export const KAFKA_BACK_OFF: BackOff = { msMin: 100, msMax: SECOND_MS }

/**
 * A consumer that sends no heartbeat for this long is dead, and its partitions go to others. Shorter than `SYNC_START_MS_MAX`, so that a
 * sync render in a partition of a killed renderer is still claimed in time. 6 s is the minimum that brokers allow.
 */
export const KAFKA_SESSION_MS = 7 * SECOND_MS

/** How often a consumer sends a heartbeat, and so how soon it learns that partitions are being reassigned. */
export const KAFKA_HEARTBEAT_MS = 500

/** How often finished offsets are committed. Finished but uncommitted records are delivered again after a crash. */
export const KAFKA_COMMIT_EVERY_MS = SECOND_MS

/** How long joining a group may take. The broker waits for members that died. */
export const KAFKA_JOIN_MS_MAX = 30 * SECOND_MS

/** How long the first answers, and creating topics and their first offsets, may take while several processes do so. */
export const KAFKA_PREPARE_MS_MAX = 60 * SECOND_MS

/** How long a queue keeps renders: longer than an outage. Renders waiting past `QUEUE_AGE_MS_MAX` must still be reported as expired. */
export const KAFKA_QUEUE_KEPT_MS = 7 * DAY_MS

/**
 * How often the offsets of a partition that no renderer reads are committed again. Brokers forget them after a week by default, or after a
 * day with the default of old versions. A process that is replaced meanwhile would start from the beginning.
 */
export const KAFKA_OFFSETS_RENEWED_EVERY_MS = 6 * 3600 * SECOND_MS

/** The same for the sync lane, whose callers wait for seconds. */
export const KAFKA_SYNC_KEPT_MS = 3600 * SECOND_MS

/** A dead letter is the original record with additions, so it needs more than the broker's megabyte. */
export const KAFKA_DEAD_BYTES_MAX = 2048 * KIB

/** When a delivery is shown again in a list that could not be reached. In an outage of an hour, each ended delivery costs twelve tries. */
export const DELIVERY_SHOWN_AGAIN_MS = 300 * SECOND_MS

/** Objects of deliveries that are read or written at once: a remote store answers many as quickly as one. */
export const WEBHOOK_OBJECTS_AT_ONCE = 32

/**
 * What keeps parts of requests that an erasure cannot remove, and for how long unless a topic was created otherwise. It is here because the
 * operator shows it and must not load a client of Kafka.
 */
export const REQUESTS_KEPT = [
  {
    topic: 'render.<engine>.<lane>',
    keptMs: KAFKA_QUEUE_KEPT_MS,
    what: 'data of requests up to 200 KiB, file name, webhook URL, labels',
  },
  {
    topic: 'render.events',
    keptMs: KAFKA_EVENTS_KEPT_MS,
    what: 'file name, webhook URL, labels, message of a failure',
  },
  {
    topic: 'render.dead',
    keptMs: DEAD_LETTERS_KEPT_MS,
    what: 'requests that crashed a renderer or could not be read',
  },
] as const
