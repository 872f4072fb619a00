/**
 * The publish checks of a folder's templates. A load of the folder gets quick answers at once and the others later, so that a slow or
 * hanging template delays no change of a tenant or key.
 */

import type { CheckRequest, CheckResult, TemplateChecker } from '@platen/contract/domain/template-check.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { raceAbort, raceFirst } from '@platen/lib/race.ts'

export interface WantedCheck {
  readonly tenant: string
  readonly request: CheckRequest
}

export interface FolderChecks extends Disposable {
  /**
   * Starts the wanted checks, by key, unless they are running already, and cancels all others. Resolves with the available answers when all
   * are there, or after `waitMs` milliseconds. Returns each answer once. Rejects with the signal's reason.
   */
  answer(
    wanted: ReadonlyMap<string, WantedCheck>,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, CheckResult>>
  /** Resolves when there is an answer that was not returned yet. Rejects with the signal's reason. */
  answered(signal: AbortSignal): Promise<void>
}

interface StartedCheck {
  readonly canceled: AbortController
  readonly over: Promise<void>
  /** Absent while it runs. */
  answer?: CheckResult
}

export function openFolderChecks({ check }: TemplateChecker, clock: Clock): FolderChecks {
  const started = new Map<string, StartedCheck>()
  const answered = openNotifier()
  const start = (key: string, { tenant, request }: WantedCheck) => {
    const canceled = new AbortController()
    const keep = (answer: CheckResult) => {
      one.answer = answer
      answered.notify()
    }
    // Rejects when it is canceled.
    const over = check(tenant, request, canceled.signal).then(keep, () => undefined)
    const one: StartedCheck = { canceled, over }
    started.set(key, one)
  }
  const keepOnly = (isWanted: (key: string) => boolean) => {
    for (const [key, { canceled }] of started) {
      if (isWanted(key)) continue
      canceled.abort()
      started.delete(key)
    }
  }
  return {
    async answer(wanted, waitMs, signal) {
      keepOnly((key) => wanted.has(key))
      for (const [key, each] of wanted) if (!started.has(key)) start(key, each)
      const all = Promise.all(Array.from(started.values(), ({ over }) => over)).then(() => undefined)
      await raceFirst([(until) => raceAbort(all, until), (until) => clock.sleep(waitMs, until)], signal)
      const answers = new Map<string, CheckResult>()
      for (const [key, { answer }] of started) if (answer !== undefined) answers.set(key, answer)
      for (const key of answers.keys()) started.delete(key)
      return answers
    },
    async answered(signal) {
      while (!started.values().some(({ answer }) => answer !== undefined)) await answered.wait(signal)
    },
    [Symbol.dispose]: () => keepOnly(() => false),
  }
}
