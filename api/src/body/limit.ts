const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000

/**
 * Bytes of request bodies in progress. One API key may have three of the largest. The process needs about ten times as much memory for
 * them.
 */
export const BODIES_OF_ONE_KEY_BYTES_MAX = 32 * MIB
export const BODIES_BYTES_MAX = 128 * MIB

/**
 * The largest body of a batch, as sent and inflated: beside one of them, a key can still send others. Only one of its items is parsed at a
 * time.
 */
export const BATCH_BYTES_MAX = 25 * MIB

/** Faults that the refusal of a batch lists: a batch is mended as a whole, and then sent again. */
export const BATCH_FAULTS_MAX = 100

/**
 * PDFs in transit to the callers of one tenant in one environment. This process holds each until it is read. Room for one of the largest,
 * or dozens of a usual size.
 */
export const ANSWERS_OF_ONE_TENANT_BYTES_MAX = 128 * MIB

/**
 * Bodies up to this length are parsed on the main thread. The worst take some milliseconds, and passing one to another thread takes a tenth
 * of one.
 */
export const BODY_PARSED_INLINE_BYTES_MAX = 16 * KIB

/** How long the check of one body may take, including the wait for its turn. A schema may cost two seconds, and more on a busy machine. */
export const BODY_CHECK_MS_MAX = 10 * SECOND_MS
