/** What callers may hold of an API process, and what its checks of data may: every ceiling with its unit and the reason for its value. */

const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000

/** Bodies of requests under way: of one API key, three of the largest; and of a process, which needs some ten times as much for what they hold. */
export const BODIES_OF_ONE_KEY_BYTES_MAX = 32 * MIB
export const BODIES_BYTES_MAX = 128 * MIB

/** What callers may do to one API process before a limit of their plan looks at it. An operator may set each; counts are those of a minute. */
export interface TrafficLimits {
  /** Requests for renders of one API key that no limit of the plan counts: those that are refused, and replays by `Idempotency-Key`. */
  readonly keyRefusals: number
  /** Other requests of one API key, such as those for the state of a render. */
  readonly keyRequests: number
  /** Bytes of bodies of one API key. */
  readonly keyBytes: number
  /** Requests of one address that show no good key: refused ones, and those for the description of the API. */
  readonly addressRefusals: number
  /** Connections at once: each takes some ten KiB, and what is beyond that is closed before it is read. */
  readonly connections: number
  /** The proxies that say truly, by `X-Forwarded-For`, whose request it is, as `10.0.0.0/8`. */
  readonly trustedProxies: readonly string[]
}

/**
 * Refusals: five a second cost a hundredth of a core, and a caller that is wrong more often reads no answers. Requests: a hundred a
 * second, which is a hundred renders polled each second. Bytes: ten MiB a second, the largest body each second.
 */
export const DEFAULT_TRAFFIC_LIMITS: TrafficLimits = {
  keyRefusals: 300,
  keyRequests: 6000,
  keyBytes: 600 * MIB,
  addressRefusals: 300,
  connections: 4096,
  trustedProxies: [],
}

/** Keys and addresses of which an API process counts what they did in the last minute; each takes some 200 bytes. */
export const KEYS_COUNTED_MAX = 10_000
export const ADDRESSES_COUNTED_MAX = 10_000

/** What a piece of a body counts at least, as each is an event of its own however small it is. */
export const BODY_PIECE_BYTES_MIN = KIB

/** How long a client may take nothing of an answer that is under way: what it does not read, this process holds. */
export const ANSWER_STALLED_MS_MAX = 20 * SECOND_MS

/** PDFs on their way to the sync callers of one tenant, as this process holds each until it is read: one of the largest, or dozens as people have them. */
export const ANSWERS_OF_ONE_TENANT_BYTES_MAX = 128 * MIB

/** Compiled `variables_schema`s each check thread of an API process keeps, and of one tenant, the least recently used going first. Each is some 100 kB of functions. */
export const DATA_VALIDATORS_MAX = 500
export const DATA_VALIDATORS_OF_ONE_TENANT = 50

/** Threads of an API process that parse bodies and hold data against schemas, of which one tenant has one; and how long one is kept beside the first that has nothing to do. */
export const BODY_CHECK_THREADS = 2
export const BODY_CHECK_THREADS_IDLE_MS = 30 * SECOND_MS

/** Bodies up to this length are parsed on the thread that answers everybody: at their worst in some milliseconds, where the way to another thread takes a tenth of one. */
export const BODY_PARSED_INLINE_BYTES_MAX = 16 * KIB

/** How long the check of one body may take, waiting for its turn included. What a schema may cost is two seconds, and more on a machine that is busy. */
export const BODY_CHECK_MS_MAX = 10 * SECOND_MS
