/**
 * Checks the templates of all tenants before they are published, on a few threads that exist only while templates are checked: each takes a
 * hundred MiB, and most hours bring no template. Tenants take turns, each with one check at a time. A check that computes without end is
 * ended, and that is its answer. If a check has no answer, because its thread died or the machine was too busy, its tenant waits longer
 * each time before the next one. So templates of one tenant cannot block those of others.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { CheckFault, CheckRequest, CheckResult, TemplateChecker } from '@platen/contract/domain/template-check.ts'
import { backOffMs } from '@platen/lib/back-off.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { type FairSemaphoreOptions, openFairSemaphore } from '@platen/lib/fair-semaphore.ts'
import { messageOf } from '@platen/lib/thrown.ts'
import { CHECK_BACK_OFF, CHECK_MS_MAX, CHECKS_AT_ONCE } from './limit.ts'
import { spawnThreadFor } from './thread/start.ts'
import { openThreadPool, type ThreadPoolOptions } from './thread-pool.ts'

const SECOND_MS = 1000

/**
 * How long a check may wait for a busy thread before a second one starts. A check that hangs delays others no longer than this. A start
 * takes half of this, and a check some hundredths of a second.
 */
export const CHECK_PATIENCE_MS = 2 * SECOND_MS

/** How long idle check threads are kept. Starting them takes half a second, as long as a few checks. */
export const CHECK_THREADS_IDLE_MS = 10 * SECOND_MS

interface CheckThreadsOptions extends Pick<ThreadPoolOptions, 'clock' | 'spawn' | 'checkCpuMsMax'> {
  /** Whether the first thread starts at once. If not, it starts with the first check. */
  readonly isSoonNeeded?: boolean
}

/** Opens a checker with its own threads. Closing it ends them, and running checks stay without an answer. */
export function openTemplateChecker(options: CheckThreadsOptions): TemplateChecker & AsyncDisposable {
  const pool = openThreadPool({
    spawn: spawnThreadFor(['check']),
    ...options,
    size: CHECKS_AT_ONCE,
    patienceMs: CHECK_PATIENCE_MS,
    restMs: CHECK_THREADS_IDLE_MS,
    ...(options.isSoonNeeded !== true && { startsAfter: 'first task' }),
  })
  const turns = { permits: CHECKS_AT_ONCE, permitsPerTenant: 1 }
  return {
    ...checkInTurns({
      run: (check, signal) => pool.run({ kind: 'check', check }, signal),
      turns,
      clock: options.clock,
    }),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}

interface CheckTurnsOptions {
  readonly run: (check: CheckRequest, signal: AbortSignal) => Promise<readonly CheckFault[]>
  readonly turns: FairSemaphoreOptions
  readonly clock: Clock
}

export function checkInTurns({ run, turns: allowed, clock }: CheckTurnsOptions): TemplateChecker {
  const turns = openFairSemaphore(allowed)
  /** Consecutive checks without an answer, and until when the tenant waits because of them, on the monotonic clock. */
  const delays = new Map<string, { readonly failures: number; readonly until: number }>()
  const runOnce = async (check: CheckRequest, signal: AbortSignal): Promise<CheckResult> => {
    const deadline = clock.timeout(CHECK_MS_MAX)
    try {
      return { faults: await run(check, AbortSignal.any([signal, deadline])), isFinal: true }
    } catch (cause) {
      signal.throwIfAborted()
      const reason = deadline.aborted ? `it had no answer after ${CHECK_MS_MAX / 1000} s` : messageOf(cause)
      const engine = check.source.reactPdf === undefined ? 'html' : 'react_pdf'
      const isFinal = cause instanceof ServiceError && cause.code === 'template_error'
      return { faults: [{ engine, message: `it could not be checked: ${reason}` }], isFinal }
    }
  }
  return {
    async check(tenant, request, signal) {
      for (;;) {
        using turn = await turns.acquire(tenant, signal)
        const { failures, until } = delays.get(tenant) ?? { failures: 0, until: 0 }
        const waitMs = until - clock.monotonic()
        if (waitMs > 0) {
          turn[Symbol.dispose]()
          await clock.sleep(waitMs, signal)
          continue
        }
        const result = await runOnce(typeof request === 'function' ? await request(signal) : request, signal)
        const pauseMs = backOffMs(failures + 1, CHECK_BACK_OFF)
        if (result.isFinal) delays.delete(tenant)
        else delays.set(tenant, { failures: failures + 1, until: clock.monotonic() + pauseMs })
        return result
      }
    },
  }
}
