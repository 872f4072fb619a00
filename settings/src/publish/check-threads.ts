/**
 * The threads of the publish check. They exist only while templates are checked: they take a hundred MiB, and most hours bring no template.
 * There is one until the checks have taken a while: it costs as much to open a thread as to check twenty templates.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort, raceFirst } from '@platen/contract/race.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/template-check.ts'
import { CHECK_ONE_THREAD_MS, CHECK_THREADS_IDLE_MS } from './limit.ts'
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
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>
}

/** Opens the threads at the first check or by `prepare`, and closes them when idle for a while. Closing cancels running checks. */
export function openCheckThreads({ open, clock }: CheckThreadsOptions): CheckThreads {
  let threads: CheckPool | undefined
  let running = 0
  /** When checks began to run without a pause. */
  let busySince = 0
  /** Resolves when the check that began last has ended. */
  let last: Promise<void> = Promise.resolve()
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
  const awaitTurn = async (before: Promise<void>, signal: AbortSignal) => {
    const leftMs = busySince + CHECK_ONE_THREAD_MS - clock.monotonic()
    if (leftMs <= 0) return
    await raceFirst([(until) => raceAbort(before, until), (until) => clock.sleep(leftMs, until)], signal)
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
      const [before, over] = [last, Promise.withResolvers<void>()]
      last = over.promise
      running++
      if (running === 1) busySince = clock.monotonic()
      try {
        if (running > 1) await awaitTurn(before, signal)
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
