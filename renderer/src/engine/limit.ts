import type { BackOff } from '@platen/lib/back-off.ts'

const SECOND_MS = 1000
const KIB = 1024
const MIB = 1024 * KIB

/** Heap and buffers of one render thread, in MiB as V8 counts them. An image with the most pixels, unpacked, takes three quarters of it. */
export const RENDER_THREAD_HEAP_MIB_MAX = 1024

/**
 * Memory that a render thread may keep after a render, in MiB: the heap it has claimed from the system and the buffers beside it, QuickJS
 * included. Twice that of a new thread. A document of about 2000 rows leaves as much behind, and V8 itself returns little of it.
 */
export const RENDER_THREAD_KEPT_MIB_MAX = 384

/**
 * How long a task runs before a spare thread starts. The task may be ended at its deadline, and then the next one need not wait for a
 * start. Nearly all documents take less, and a spare takes 80 MiB.
 */
export const SPARE_AFTER_MS = SECOND_MS

/**
 * How long a task may wait for a busy thread before the last thread of an engine starts. This thread is one more than there are cores, for
 * sync renders. Its start slows running documents more than a short wait would.
 */
export const LAST_THREAD_PATIENCE_MS = 100

/**
 * By how much threads that sync renders do not need are nicer than the process. On a contended core, such a thread gets a third of the time
 * of another one: enough to end within its time limit, and little to be in the way.
 */
export const LOW_NICENESS = 5

/**
 * How long a render thread may be idle before it ends, unless it is the last such thread. Each takes 80 MiB or more, and starts in a second
 * on a free core.
 */
export const RENDER_THREAD_IDLE_MS = 60 * SECOND_MS

/**
 * Time between two memory checks of a busy thread, and how much its heap may grow meanwhile before V8 ends the process. One MiB less than
 * the limit of a thread: with 2 GiB in all, V8 lets a heap quadruple before it collects old objects, and with less only double.
 */
export const HEAP_CHECK_MS = 100
export const HEAP_HEADROOM_MIB = 1023

/** Publish checks at once, one per tenant. Each has a thread of its own, of a hundred MiB. */
export const CHECKS_AT_ONCE = 2

/**
 * CPU of one publish check, however busy the machine is. The largest source with types takes 2 s, and an endless loop is ended after 4 s.
 * With this limit, a start with four templates that hang takes less than a minute.
 */
export const CHECK_CPU_MS_MAX = 6 * SECOND_MS

/**
 * How long a publish check may take once its turn has come, including the wait for a thread. On a machine too busy for that, the check has
 * no answer, and is repeated.
 */
export const CHECK_MS_MAX = 30 * SECOND_MS

/** How long a tenant waits for its next publish check after one without an answer. The next may have none, too. */
export const CHECK_BACK_OFF: BackOff = { msMin: 2 * SECOND_MS, msMax: 600 * SECOND_MS }

/**
 * Fetched files that one renderer process caches (LRU), and for how long. Images change rarely, and a changed one shows after this time.
 */
export const EGRESS_CACHE_BYTES_MAX = 64 * MIB
export const EGRESS_CACHE_MS = 10 * 60 * SECOND_MS
