/** Proves on running processes that a fault moves the metric of its row, and that the condition of its alert is then true. */
import { setTimeout as sleep } from 'node:timers/promises'
import { poll } from '../../../time/poll.ts'
import { hasServer } from '../../../topology/server/binary.ts'
import type { ServerProcess } from '../../../topology/server/process.ts'
import { isTrue } from './condition.ts'
import { type Scrape, scrape } from './exposition.ts'
import { movementOf } from './movement.ts'
import { SIGNALS, type Signal, type SignalName } from './signal.ts'

export interface SignalWatch extends AsyncDisposable {
  /**
   * Resolves when the metric has moved and the condition of the alert is true. Also resolves if that does not happen for two minutes, so
   * that the fault can be ended.
   */
  readonly noticed: () => Promise<void>
  /** Waits as `noticed` does. Returns what is not as in the row; undefined if all is. */
  readonly verdict: () => Promise<string | undefined>
}

/** A scrape costs each process some milliseconds. */
const SCRAPE_EVERY_MS = 100

/** Begins to watch before the fault. Resolves when no earlier fault can be seen any more. */
export async function watchSignal(name: SignalName, processes: readonly ServerProcess[]): Promise<SignalWatch> {
  const { selector, moves, wakes }: Signal = SIGNALS[name]
  const { valuesIn, isCalm, hasMoved } = movementOf(moves, selector)
  const before = await poll(() => scrape(processes)).until((each) => isCalm(valuesIn(each)))
  const closing = new AbortController()
  let state: 'unmoved' | 'moved' | 'noticed' = 'unmoved'
  const wakesSomebody = async (during: Scrape) =>
    'nobody' in wakes || !hasServer('promtool') || (await isTrue(wakes, { before, during }))
  const follow = async () => {
    while (!closing.signal.aborted && state !== 'noticed') {
      const now = await scrape(processes)
      if (hasMoved(valuesIn(now), valuesIn(before))) state = (await wakesSomebody(now)) ? 'noticed' : 'moved'
      if (state !== 'noticed') await sleep(SCRAPE_EVERY_MS)
    }
  }
  const following = follow()
  const noticed = async () => {
    await poll(() => state)
      .until((each) => each === 'noticed')
      .catch(() => undefined)
  }
  return {
    noticed,
    async verdict() {
      await noticed()
      if (state === 'unmoved') return `${selector} has not moved`
      return state === 'noticed' || 'nobody' in wakes ? undefined : `the condition of ${wakes.alert} was not true`
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      await following
    },
  }
}
