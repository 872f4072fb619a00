/**
 * The threads of the publish check. They exist only while templates are checked: they take a hundred MiB, and most hours bring no template.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/template-check.ts'
import { CHECK_THREADS_IDLE_MS } from './limit.ts'
import type { PublishCheck } from './run-check.ts'

export interface CheckThreads extends AsyncDisposable {
  readonly check: PublishCheck
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

/** Opens the threads at the first check, and closes them when idle for a while. Closing cancels running checks. */
export function openCheckThreads({ open, clock }: CheckThreadsOptions): CheckThreads {
  let threads: CheckPool | undefined
  let running = 0
  let idle = new AbortController()
  const close = async () => {
    const last = threads
    threads = undefined
    await last?.[Symbol.asyncDispose]()
  }
  const closeWhenIdle = async () => {
    idle = new AbortController()
    const isOver = await clock.sleep(CHECK_THREADS_IDLE_MS, idle.signal).then(
      () => true,
      () => false,
    )
    if (isOver) await close()
  }
  return {
    async check(request, signal) {
      idle.abort()
      threads ??= open()
      running++
      try {
        return await threads.run({ kind: 'check', check: request }, signal)
      } finally {
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
