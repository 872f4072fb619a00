/** Every ceiling of what goes through Kafka, with its unit and the reason for its value; those of everything else are in `limit.ts`. */

const KIB = 1024
const SECOND_MS = 1000
const DAY_MS = 24 * 3600 * SECOND_MS

/** How long connecting to one broker may take, TLS included. */
export const KAFKA_CONNECT_MS_MAX = 3 * SECOND_MS

/** How long a broker may take to answer one request. A whole send, with its second tries, has `KAFKA_SEND_MS_MAX`. */
export const KAFKA_REQUEST_MS_MAX = 3 * SECOND_MS

/** After this a send is given up, and its outcome unknown. Whoever must not give up sends it again. */
export const KAFKA_SEND_MS_MAX = 6 * SECOND_MS

/**
 * The same for a render that a caller of the API waits to have queued: refused within two seconds, half of which are for writing
 * down that it came to nothing. A healthy cluster takes milliseconds, and a leader that hands over before it stops some hundreds of
 * them, second tries included. One that dies is missed by its cluster for nine seconds: no caller would wait for that.
 */
export const KAFKA_ENQUEUE_MS_MAX = SECOND_MS

/** Sends one process may have under way. Past it the broker is not keeping up, and more would only wait. */
export const KAFKA_SENDS_MAX = 10_000

/** What one request for a topic carries at most, unless one record alone is larger: half of what brokers take by default in one piece. */
export const KAFKA_BATCH_BYTES_MAX = 512 * KIB

/** First and longest wait before something is tried again with a broker. */
export const KAFKA_RETRY_MS_MIN = 100
export const KAFKA_RETRY_MS_MAX = SECOND_MS

/**
 * A consumer that has not been heard of for this long is dead, and its partitions go to others. Shorter than `SYNC_TAKE_MS_MAX`,
 * so that a sync render in a partition of a renderer that was killed is still taken in time; 6 s is the least brokers allow.
 */
export const KAFKA_SESSION_MS = 7 * SECOND_MS

/** How often a consumer is heard of, and so how soon it learns that partitions are to be shared out anew. */
export const KAFKA_HEARTBEAT_MS = 500

/** How long the broker may hold a fetch that finds nothing. What was paused joins with the next one, so this is how late it can be. */
export const KAFKA_FETCH_WAIT_MS = 100

/** What one fetch brings of one partition, and in all; a record that alone is larger is brought alone. */
export const KAFKA_FETCH_PARTITION_BYTES = 64 * KIB
export const KAFKA_FETCH_BYTES = 1024 * KIB

/** Bytes a consumer holds of one partition that nobody has taken; what the last fetch brought may exceed it. */
export const KAFKA_BUFFERED_BYTES_MAX = 64 * KIB

/** Records of one partition between the oldest that is not done and the newest that was fetched: what a crash gives out again. */
export const KAFKA_UNCOMMITTED_RECORDS_MAX = 1000

/** How often what is done is committed. What is done and not committed is given out again after a crash. */
export const KAFKA_COMMIT_EVERY_MS = SECOND_MS

/** How late at most a partition without new events comes by its reader, who then sees whether what it made of the earlier ones is still there. */
export const REPLAY_IDLE_MS = SECOND_MS

/** A consumer of which nothing was heard for this long, not even a failed attempt to reach a broker, has stopped for good. */
export const KAFKA_SILENCE_MS_MAX = 60 * SECOND_MS

/** How long joining a group may take before it is given up: a member that has died is waited for. */
export const KAFKA_JOIN_MS_MAX = 30 * SECOND_MS

/** How long making topics and their first offsets may take, with several processes at it. */
export const KAFKA_PREPARE_MS_MAX = 60 * SECOND_MS

/** The same complaint of the client is logged once in this time: while a broker is away it has the same one every second. */
export const KAFKA_WARNING_EVERY_MS = 30 * SECOND_MS

/** How long a queue keeps renders: longer than an outage lasts, as those waiting past `QUEUE_AGE_MS_MAX` are still to be told so. */
export const KAFKA_QUEUE_KEPT_MS = 7 * DAY_MS

/** How often it is looked how much waits: as often as metrics are scraped. */
export const KAFKA_BACKLOG_EVERY_MS = 15 * SECOND_MS

/**
 * How often the offsets of a line that no renderer reads are committed again. Brokers forget them after a week by default, and after a
 * day where they are set to the default of old ones; a process that is replaced meanwhile begins anew.
 */
export const KAFKA_OFFSETS_RENEWED_EVERY_MS = 6 * 3600 * SECOND_MS

/** The same on the sync lane, whose callers wait for seconds. */
export const KAFKA_SYNC_KEPT_MS = 3600 * SECOND_MS

/** How long events are kept, unless the topic is made for less or more. */
export const KAFKA_EVENTS_KEPT_MS = 45 * DAY_MS

/** Charges of a month are made from its events, and the longest has 31 days. More than a year is of no use to anything here. */
export const KAFKA_EVENT_DAYS_MIN = 32
export const KAFKA_EVENT_DAYS_MAX = 400

/** A dead letter is its original and a little more, so it needs more room than the broker's megabyte. */
export const KAFKA_DEAD_BYTES_MAX = 2048 * KIB
