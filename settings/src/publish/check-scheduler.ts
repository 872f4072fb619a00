/**
 * Schedules the publish checks of all tenants on a few threads. Tenants take turns, each with one check at a time. A tenant whose checks
 * hang waits longer each time before its next one. So no tenant's templates keep those of others from being checked.
 */
import { backOffMs } from '@platen/contract/back-off.ts'
import { openFairSemaphore } from '@platen/contract/fair-semaphore.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { CheckRequest } from '@platen/contract/template-check.ts'
import { CHECK_HANG_BACK_OFF, CHECKS_AT_ONCE } from './limit.ts'
import { type CheckResult, type PublishCheck, runCheck } from './run-check.ts'

export interface CheckScheduler {
  /** The result of the check, once its turn has come. Rejects only when `signal` aborts. */
  readonly check: (tenant: string, request: CheckRequest, signal: AbortSignal) => Promise<CheckResult>
}

export interface CheckSchedulerOptions {
  readonly check: PublishCheck
  readonly clock: Clock
}

export function openCheckScheduler(options: CheckSchedulerOptions): CheckScheduler {
  const { clock } = options
  const turns = openFairSemaphore({ permits: CHECKS_AT_ONCE, permitsPerTenant: 1 })
  /** Consecutive checks without an answer, and until when the tenant waits because of them, on the monotonic clock. */
  const delays = new Map<string, { readonly failures: number; readonly until: number }>()
  const checkInTurn = async (
    tenant: string,
    request: CheckRequest,
    signal: AbortSignal,
  ): Promise<CheckResult | { readonly waitMs: number }> => {
    using _ = await turns.acquire(tenant, signal)
    const { failures, until } = delays.get(tenant) ?? { failures: 0, until: 0 }
    const waitMs = until - clock.monotonic()
    if (waitMs > 0) return { waitMs }
    const answer = await runCheck(request, options, signal)
    if (answer.isFinal) delays.delete(tenant)
    else {
      const pauseMs = backOffMs(failures + 1, CHECK_HANG_BACK_OFF)
      delays.set(tenant, { failures: failures + 1, until: clock.monotonic() + pauseMs })
    }
    return answer
  }
  return {
    async check(tenant, request, signal) {
      for (;;) {
        const answer = await checkInTurn(tenant, request, signal)
        if (!('waitMs' in answer)) return answer
        await clock.sleep(answer.waitMs, signal)
      }
    },
  }
}
