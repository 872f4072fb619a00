/** What callers may hold of an API process, and what its checks of data may: every ceiling with its unit and the reason for its value. */

const MIB = 1024 * 1024
const SECOND_MS = 1000

/** Bodies of requests under way: of one API key, three of the largest; and of a process, which needs some ten times as much for what they hold. */
export const BODIES_OF_ONE_KEY_BYTES_MAX = 32 * MIB
export const BODIES_BYTES_MAX = 128 * MIB

/** Connections at once to an API process: each takes some ten KiB, and what is beyond that is closed before it is read. */
export const CONNECTIONS_MAX = 4096

/** How long a client may take nothing of an answer that is under way: what it does not read, this process holds. */
export const ANSWER_STALLED_MS_MAX = 20 * SECOND_MS

/** Compiled `variables_schema`s each check thread of an API process keeps, and of one tenant, the least recently used going first. Each is some 100 kB of functions. */
export const DATA_VALIDATORS_MAX = 500
export const DATA_VALIDATORS_OF_ONE_TENANT = 50

/** Threads of an API process that hold data against schemas, of which one tenant has one; and how long one is kept beside the first that has nothing to do. */
export const DATA_CHECK_THREADS = 2
export const DATA_CHECK_THREADS_REST_MS = 30 * SECOND_MS

/** How long the check of one body may take, waiting for its turn included. What a schema may cost is two seconds, and more on a machine that is busy. */
export const DATA_CHECK_MS_MAX = 10 * SECOND_MS
