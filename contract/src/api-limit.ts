/** Limits of an API process: what callers may hold, and what checks of data may cost. Each has its unit and the reason for its value. */

const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000

/**
 * Bytes of request bodies in progress. One API key may have three of the largest. The process needs about ten times as much memory for
 * them.
 */
export const BODIES_OF_ONE_KEY_BYTES_MAX = 32 * MIB
export const BODIES_BYTES_MAX = 128 * MIB

/** What callers may do to one API process before a limit of their plan applies. An operator may set each. Counts are per minute. */
export interface TrafficLimits {
  /** Render requests of one API key that no limit of the plan counts: refused ones, and replays by `Idempotency-Key`. */
  readonly keyRefusals: number
  /** Other requests of one API key, such as polling a render. */
  readonly keyRequests: number
  /** Bytes of request bodies of one API key. */
  readonly keyBytes: number
  /** Requests of one address without a valid key: refused ones, and requests for the description of the API. */
  readonly addressRefusals: number
  /** Open connections. Each takes about 10 KiB. Connections above the limit are closed before they are read. */
  readonly connections: number
  /** Proxies whose `X-Forwarded-For` is trusted, as blocks such as `10.0.0.0/8`. */
  readonly trustedProxies: readonly string[]
}

/**
 * Refusals: 5/s cost a hundredth of a core, and a caller that is wrong more often does not read the answers. Requests: 100/s, which is 100
 * renders polled each second. Bytes: 10 MiB/s, the largest body each second.
 */
export const DEFAULT_TRAFFIC_LIMITS: TrafficLimits = {
  keyRefusals: 300,
  keyRequests: 6000,
  keyBytes: 600 * MIB,
  addressRefusals: 300,
  connections: 4096,
  trustedProxies: [],
}

/** Keys and addresses whose requests of the last minute an API process counts. Each takes about 200 bytes. */
export const KEYS_COUNTED_MAX = 10_000
export const ADDRESSES_COUNTED_MAX = 10_000

/** Minimum that a chunk of a body counts as, because each chunk is an event of its own, however small. */
export const BODY_PIECE_BYTES_MIN = KIB

/** How long a client may read nothing of an answer in progress. This process holds what the client does not read. */
export const ANSWER_STALLED_MS_MAX = 20 * SECOND_MS

/**
 * PDFs in transit to the sync callers of one tenant. This process holds each until it is read: one of the largest, or dozens of a usual
 * size.
 */
export const ANSWERS_OF_ONE_TENANT_BYTES_MAX = 128 * MIB

/**
 * Compiled `variables_schema`s that each check thread of an API process caches, in all and of one tenant (LRU). Each is about 100 kB of
 * functions.
 */
export const DATA_VALIDATORS_MAX = 500
export const DATA_VALIDATORS_OF_ONE_TENANT = 50

/**
 * Threads of an API process that parse bodies and validate data; one tenant gets one of them. The first stays; the others stop after this
 * idle time.
 */
export const BODY_CHECK_THREADS = 2
export const BODY_CHECK_THREADS_IDLE_MS = 30 * SECOND_MS

/**
 * Bodies up to this length are parsed on the main thread. The worst take some milliseconds, and passing one to another thread takes a tenth
 * of one.
 */
export const BODY_PARSED_INLINE_BYTES_MAX = 16 * KIB

/** How long the check of one body may take, including the wait for its turn. A schema may cost two seconds, and more on a busy machine. */
export const BODY_CHECK_MS_MAX = 10 * SECOND_MS
