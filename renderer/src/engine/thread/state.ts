import type { ConsoleLine } from '../../port/engine.ts'
import { SYNC_PAUSE_MS_MAX } from '../../worker/limit.ts'
import { RENDER_THREAD_IDLE_MS, SPARE_AFTER_MS } from '../limit.ts'
import type { RenderTask, TaskKind, TaskResults } from './message.ts'
import type { PoolWorker } from './start.ts'

export interface Job {
  readonly task: RenderTask
  readonly isSync: boolean
  readonly onConsole: ((line: ConsoleLine) => void) | undefined
  readonly acceptedAt: number
  resolve(value: TaskResults[TaskKind]): void
  reject(reason: unknown): void
}

export interface Thread {
  readonly worker: PoolWorker
  /** Whether it runs at a low priority, for good: a process without rights cannot raise it again. */
  readonly isLow: boolean
  readonly startedAt: number
  isReady: boolean
  isWarm: boolean
  isWorn: boolean
  renders: number
  /** When its last task began or ended, or when it started. */
  usedAt: number
  job?: Job | undefined
  error?: unknown
}

export function newThread(worker: PoolWorker, isLow: boolean, now: number): Thread {
  return { worker, isLow, startedAt: now, isReady: false, isWarm: false, isWorn: false, renders: 0, usedAt: now }
}

/** Tasks of sync renders go before all others. */
export function enqueue(job: Job, waiting: Job[]): void {
  const ahead = job.isSync ? waiting.findIndex(({ isSync }) => !isSync) : -1
  waiting.splice(ahead === -1 ? waiting.length : ahead, 0, job)
}

/**
 * The free thread that suits a task best. Sync renders prefer threads of normal priority. As long as an idle thread lasts after a sync
 * render, all others leave these threads to sync renders. For a moment after one they even wait until a thread of low priority has started.
 * Among equals, the thread with the most renders is the quickest, as V8 has compiled more for it. Worn threads come last, so that they
 * become idle.
 */
export function freeThreadFor(job: Job, threads: readonly Thread[], sinceSyncMs: number): Thread | undefined {
  const isLowWanted = !job.isSync && sinceSyncMs < RENDER_THREAD_IDLE_MS
  const isLowStarting = threads.some(({ isLow, isReady }) => isLow && !isReady)
  const isLowNeeded = !job.isSync && sinceSyncMs < SYNC_PAUSE_MS_MAX && isLowStarting
  return threads
    .filter(({ isReady, isLow, job: running }) => isReady && running === undefined && (isLow || !isLowNeeded))
    .toSorted(
      (one, other) =>
        Number(one.isWorn) - Number(other.isWorn) ||
        Number(one.isLow !== isLowWanted) - Number(other.isLow !== isLowWanted) ||
        other.renders - one.renders,
    )[0]
}

/**
 * Whether a thread is idle or starting. Low ones alone are not enough: on a busy machine they take long to start, and a sync render waits
 * for one of normal priority.
 */
export function isOneFree(threads: readonly Thread[]): boolean {
  const isOneNormal = threads.some(({ isLow }) => !isLow)
  return threads.some(({ job, isLow }) => job === undefined && (isOneNormal || !isLow))
}

/** How long a task waits before another thread starts for it, when there are `threads`. */
export function patienceOf(
  threads: number,
  {
    size,
    patienceMs,
    lastPatienceMs = patienceMs,
  }: { readonly size: number; readonly patienceMs: number; readonly lastPatienceMs?: number },
): number {
  if (threads === 0) return 0
  if (threads >= size) return Number.POSITIVE_INFINITY
  return threads < size - 1 ? patienceMs : lastPatienceMs
}

/** Whether a thread that starts now may have a low priority: no sync render waits for it, and the next one finds another. */
export function mayStartLow(threads: readonly Thread[], waiting: readonly Job[], now: number): boolean {
  const isForSync = (thread: Thread) => !thread.isLow && !thread.isWorn && !isLong(thread, now)
  return threads.some(isForSync) && !waiting.some(({ isSync }) => isSync)
}

/** Whether a task runs so long that its thread may have to be ended. Checks do not count: the next one can wait for a start. */
export function hasLongTask(threads: readonly Thread[], now: number): boolean {
  return threads.some((thread) => isLong(thread, now))
}

function isLong({ job, usedAt }: Thread, now: number): boolean {
  return job !== undefined && job.task.kind !== 'check' && now - usedAt >= SPARE_AFTER_MS
}

/**
 * The threads that no task has used for `idleMs`. The one used last stays if no other is ready, or as the spare beside a long task; one of
 * normal priority is preferred. Once it has been alone for `restMs`, it is not needed either.
 */
export function unneededThreads(
  threads: readonly Thread[],
  { now, idleMs, restMs }: { readonly now: number; readonly idleMs: number; readonly restMs: number },
): readonly Thread[] {
  const idle = threads
    .filter(({ job, isReady, isWorn }) => job === undefined && isReady && !isWorn)
    .toSorted((one, other) => Number(one.isLow) - Number(other.isLow) || other.usedAt - one.usedAt)
  const [last] = idle
  if (last !== undefined && threads.length === 1) return now - last.usedAt >= restMs ? [last] : []
  const isLastNeeded = hasLongTask(threads, now) || !threads.some((thread) => thread.isReady && !idle.includes(thread))
  return idle.slice(isLastNeeded ? 1 : 0).filter(({ usedAt }) => now - usedAt >= idleMs)
}
