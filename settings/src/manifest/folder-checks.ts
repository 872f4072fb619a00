/**
 * The publish checks of a folder's templates. A load of the folder gets quick answers at once, and the others later: a slow or hanging
 * template delays no change of a tenant or key.
 */
import { openFairSemaphore } from '@platen/contract/fair-semaphore.ts'
import { TEMPLATE_CHECKS_AT_ONCE } from '@platen/contract/limit.ts'
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort, raceFirst } from '@platen/contract/race.ts'
import type { CheckRequest } from '@platen/contract/template-check.ts'
import { type CheckResult, type PublishCheck, runCheck } from '../publish/run-check.ts'

export interface WantedCheck {
  /** The name of the template's tenant. */
  readonly tenant: string
  readonly request: CheckRequest
}

export interface FolderChecks extends Disposable {
  /**
   * Starts the wanted checks, by key, unless they are running already, and cancels all others. Resolves with the available answers when all
   * are there, or after `waitMs` milliseconds. Rejects with the signal's reason.
   */
  answer(
    wanted: ReadonlyMap<string, WantedCheck>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, CheckResult>>
  /** Resolves when there is an answer that was not returned yet. Rejects with the signal's reason. */
  answered(signal: AbortSignal): Promise<void>
}

export interface FolderChecksOptions {
  /** Rejects only when the signal aborts. */
  readonly check: (tenant: string, request: CheckRequest, signal: AbortSignal) => Promise<CheckResult>
  readonly clock: Clock
}

export function openFolderChecks({ check, clock }: FolderChecksOptions): FolderChecks {
  const pending = new Map<string, { readonly over: AbortController; readonly done: Promise<void> }>()
  const answers = new Map<string, CheckResult>()
  const answerArrived: Notifier = openNotifier()
  const runCheck = async (key: string, { tenant, request }: WantedCheck, signal: AbortSignal) => {
    try {
      const answer = await check(tenant, request, signal)
      if (signal.aborted) return
      answers.set(key, answer)
      pending.delete(key)
      answerArrived.notify()
    } catch {
      // The check is no longer wanted.
    }
  }
  const keepOnly = (isWanted: (key: string) => boolean) => {
    for (const key of answers.keys()) if (!isWanted(key)) answers.delete(key)
    for (const [key, { over }] of pending) {
      if (isWanted(key)) continue
      over.abort()
      pending.delete(key)
    }
  }
  return {
    async answer(wanted, waitMs, signal) {
      keepOnly((key) => wanted.has(key))
      for (const [key, each] of wanted) {
        if (pending.has(key) || answers.has(key)) continue
        const over = new AbortController()
        pending.set(key, { over, done: runCheck(key, each, over.signal) })
      }
      const all = Promise.all(Array.from(pending.values(), ({ done }) => done)).then(() => undefined)
      await raceFirst([(until) => raceAbort(all, until), (until) => clock.sleep(waitMs, until)], signal)
      const taken = new Map(answers)
      answers.clear()
      return taken
    },
    async answered(signal) {
      while (answers.size === 0) await answerArrived.wait(signal)
    },
    [Symbol.dispose]: () => keepOnly(() => false),
  }
}

/** Checks for a caller who owns all templates: no tenant waits for its turn. */
export function openOwnChecks(check: PublishCheck, clock: Clock): FolderChecks {
  const turns = openFairSemaphore({ permits: TEMPLATE_CHECKS_AT_ONCE, permitsPerTenant: TEMPLATE_CHECKS_AT_ONCE })
  return openFolderChecks({
    clock,
    async check(tenant, request, signal) {
      using _ = await turns.acquire(tenant, signal)
      return await runCheck(request, { check, clock }, signal)
    },
  })
}
