/** What a pool knows of its threads, and which of them are needed. */
import type { ConsoleLine } from '../../port/engine.ts'
import { RENDER_THREAD_IDLE_MS, SPARE_AFTER_MS } from '../limit.ts'
import type { RenderTask, TaskKind, TaskResults } from './message.ts'
import type { PoolWorker } from './start.ts'

/** A task of a caller. */
export interface Job {
  readonly task: RenderTask
  readonly onConsole: ((line: ConsoleLine) => void) | undefined
  readonly acceptedAt: number
  resolve(value: TaskResults[TaskKind]): void
  reject(reason: unknown): void
}

export interface Thread {
  readonly worker: PoolWorker
  readonly startedAt: number
  /** Whether it can take a task. */
  isReady: boolean
  /** Whether it has made a document. */
  isWarm: boolean
  /** Whether it must be replaced. */
  isWorn: boolean
  /** Tasks it has done. */
  renders: number
  /** When its last task began or ended, or when it started. */
  usedAt: number
  job?: Job | undefined
  error?: unknown
}

/** Whether a task runs for so long that its thread may have to be ended. */
export function hasLongTask(threads: readonly Thread[], now: number): boolean {
  return threads.some(({ job, usedAt }) => job !== undefined && now - usedAt >= SPARE_AFTER_MS)
}

/**
 * The threads that no task has used for long. The one used last stays if no other is ready, or as the spare beside a long task. Once it has
 * been alone for `restMs`, it is not needed either.
 */
export function unneededThreads(threads: readonly Thread[], now: number, restMs: number): readonly Thread[] {
  const idle = threads
    .filter(({ job, isReady, isWorn }) => job === undefined && isReady && !isWorn)
    .toSorted((one, other) => other.usedAt - one.usedAt)
  const [last] = idle
  if (last !== undefined && threads.length === 1) return now - last.usedAt >= restMs ? [last] : []
  const isLastNeeded = hasLongTask(threads, now) || !threads.some((thread) => thread.isReady && !idle.includes(thread))
  return idle.slice(isLastNeeded ? 1 : 0).filter(({ usedAt }) => now - usedAt >= RENDER_THREAD_IDLE_MS)
}
