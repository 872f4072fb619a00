/**
 * The threads of the publish check. They exist only while templates are checked: each takes a hundred MiB, and most hours bring no template.
 * Checks follow each other on one thread. Another one opens beside a check that takes long.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort, raceFirst } from '@platen/contract/race.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/template-check.ts'
import { CHECK_ALONE_MS_MAX, CHECK_THREADS_IDLE_MS } from './limit.ts'
import type { PublishCheck } from './run-check.ts'

export interface CheckThreads extends AsyncDisposable {
  readonly check: PublishCheck
  /** Opens the threads for checks that will come soon. If none comes, they are closed as after a check. */
  prepare(): void
}

/** The part of a pool of render threads that checks need. */
interface CheckPool extends AsyncDisposable {
  run(
    task: { readonly kind: 'check'; readonly check: CheckRequest },
    signal: AbortSignal,
  ): Promise<readonly CheckFault[]>
}

export interface CheckThreadsOptions {
  readonly open: () => CheckPool
  readonly clock: Pick<Clock, 'sleep'>
}

/** Opens the threads at the first check or by `prepare`, and closes them when idle for a while. Closing cancels running checks. */
export function openCheckThreads({ open, clock }: CheckThreadsOptions): CheckThreads {
  let threads: CheckPool | undefined
  let running = 0
  /** Resolves when the next check may begin: the last one has ended, or has taken long. */
  let turn: Promise<unknown> = Promise.resolve()
  let idle = new AbortController()
  const close = async () => {
    const last = threads
    threads = undefined
    await last?.[Symbol.asyncDispose]()
  }
  const closeWhenIdle = async () => {
    idle.abort()
    idle = new AbortController()
    const isOver = await clock.sleep(CHECK_THREADS_IDLE_MS, idle.signal).then(
      () => true,
      () => false,
    )
    if (isOver) await close()
  }
  /** The turn after a check that begins in this one and ends with `over`. */
  const turnAfter = async (before: Promise<unknown>, over: Promise<void>) => {
    await before
    const isOver = (until: AbortSignal) => raceAbort(over, until)
    await raceFirst([isOver, (until) => clock.sleep(CHECK_ALONE_MS_MAX, until)], NEVER)
  }
  return {
    prepare() {
      threads ??= open()
      if (running === 0) void closeWhenIdle()
    },
    async check(request, signal) {
      idle.abort()
      threads ??= open()
      const opened = threads
      const [mine, over] = [turn, Promise.withResolvers<void>()]
      turn = turnAfter(mine, over.promise)
      running++
      try {
        if (running > 1) await raceAbort(mine, signal)
        return await opened.run({ kind: 'check', check: request }, signal)
      } finally {
        over.resolve()
        running--
        if (running === 0) void closeWhenIdle()
      }
    },
    async [Symbol.asyncDispose]() {
      idle.abort()
      await close()
    },
  }
}

const NEVER = new AbortController().signal
