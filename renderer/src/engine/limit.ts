/** Limits of the engines, each with its unit and the reason for its value. */
import type { BackOff } from '@platen/contract/back-off.ts'

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS
const KIB = 1024
const MIB = 1024 * KIB

/**
 * Nodes of a document that react-pdf's own pagination may lay out again if the fast one breaks pages differently. Its time grows with the
 * square of their number: this many, a table of 600 rows of six cells, take about 2.5 s.
 */
export const PLAIN_LAYOUT_NODES_MAX = 8000

/** Heap and buffers of one render thread, in MiB as V8 counts them. Unpacking an image with the most pixels takes three quarters of it. */
export const RENDER_THREAD_HEAP_MIB_MAX = 1024

/** Renders after which a render thread is replaced. The first four hundred are slower, as V8 compiles. Memory and age may come first. */
export const RENDER_THREAD_RENDERS_MAX = 10_000

/** Age after which a render thread is replaced: growth too slow to notice otherwise starts over four times a day. */
export const RENDER_THREAD_AGE_MS_MAX = 6 * HOUR_MS

/**
 * Memory that a render thread may keep after a render, in MiB: the heap it has claimed from the system and the memory beside it, QuickJS
 * included. Twice that of a new thread; about 2000 rows leave as much behind, and V8 itself returns little of it.
 */
export const RENDER_THREAD_KEPT_MIB_MAX = 384

/**
 * How long a task runs before a spare thread starts: it may be ended at its deadline, and then the next task need not wait for a start.
 * Nearly all documents take less, and a spare takes 80 MiB.
 */
export const SPARE_AFTER_MS = SECOND_MS

/** How long an html template may wait to be filled before a second thread starts for it: most are filled in a few milliseconds. */
export const FILL_PATIENCE_MS = 20

/**
 * How long a task may wait for a busy thread before the last thread of an engine starts: the one more than there are cores, for sync renders.
 * Its start takes more from the documents under way than a short wait does.
 */
export const LAST_THREAD_PATIENCE_MS = 100

/**
 * By how much threads that sync renders do not need are nicer than the process. On a core that both want, such a thread gets a third of what
 * another one gets: enough to end within its time limit, and little to be in the way.
 */
export const LOW_NICENESS = 5

/**
 * How long a render thread may be idle before it ends, unless it is the last such thread. Each takes 80 MiB and more, and starts in a
 * second on a core that is free.
 */
export const RENDER_THREAD_IDLE_MS = 60 * SECOND_MS

/**
 * Heap of a thread for new objects. V8 fills a third of it at a time. A document leaves little behind of what it allocates: with room for a
 * document, V8 rarely moves its objects. Twice as much made documents of 10 to 800 rows no quicker, and threads 50 to 80 MiB larger. Half of
 * it took a tenth more CPU for 800 rows.
 */
export const YOUNG_GENERATION_MIB = 24
/** The same of a thread that makes no documents. A check is in no hurry, and filling an html template allocates little. */
export const SMALL_YOUNG_GENERATION_MIB = 12

/** Wait before restarting a thread that died before it was ready. */
export const RESTART_BACK_OFF: BackOff = { msMin: 100, msMax: 10 * SECOND_MS }

/**
 * How long a cold thread that can take a task must be idle before it is warmed up. When a process starts, its cores are busy with what the
 * first document needs.
 */
export const WARM_UP_AFTER_MS = SECOND_MS

/**
 * Time between two memory checks of a busy thread, and how much its heap may grow in that time before V8 ends the process. One MiB less than
 * the limit of a thread: with 2 GiB in all, V8 lets a heap quadruple before it collects old objects, and with less only double.
 */
export const HEAP_CHECK_MS = 100
export const HEAP_HEADROOM_MIB = 1023

/** Concurrent fetches of one tenant; a browser opens six connections to a host. With more, this service could be used to attack others. */
export const EGRESS_AT_ONCE_MAX = 8

/** Fetched files that one renderer process caches (LRU), and for how long. Images change rarely, and a change shows after this time. */
export const EGRESS_CACHE_BYTES_MAX = 64 * MIB
export const EGRESS_CACHE_MS = 10 * 60 * SECOND_MS

/** How often a document is started with the files it has: for most files, for those only layout shows, and for page numbers that move. */
export const EGRESS_ROUNDS_MAX = 5
