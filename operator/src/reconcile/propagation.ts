/** Reads which revision every API process enforces, and notifies those that wait for a revision. Reads only while somebody waits. */

import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'

const SECOND_MS = 1000
/** How often the operator reads enforced revisions while a resource waits for one. The interval grows with the wait. */
const ENFORCED_POLL_MS = 25
const ENFORCED_POLL_MS_MAX = SECOND_MS

/** How far the processes are. Counts those that reported recently. */
export interface Enforcement {
  readonly all: number
  /** The number of processes that do not enforce the last revision. */
  readonly behind: number
  /** The lowest revision that any process enforces; the last one if there are no processes. */
  readonly revision: number
  /** Is the revision of every process known? */
  readonly isCertain: boolean
}

interface PropagationOptions {
  readonly readEnforced: (signal: AbortSignal) => Promise<Enforcement>
  /** Called once for each waiting key, when every process enforces its revision. */
  readonly onEnforced: (key: string) => void
  readonly clock: Clock
  readonly log: Log
}

export class Propagation {
  readonly #options: PropagationOptions
  readonly #added: Notifier = openNotifier()
  readonly #waiting = new Map<string, number>()
  #last: Enforcement = { all: 0, behind: 0, revision: 0, isCertain: false }

  constructor(options: PropagationOptions) {
    this.#options = options
  }

  get last(): Enforcement {
    return this.#last
  }

  /** Is every process known to enforce this revision? */
  isEnforced(revision: number): boolean {
    return this.#last.isCertain && this.#last.revision >= revision
  }

  /** Calls `onEnforced` with the key, later, when every process enforces the revision. Replaces an earlier wait of the key. */
  whenEnforced(key: string, revision: number): void {
    this.#waiting.set(key, revision)
    this.#added.notify()
  }

  /** Reads and notifies until the signal aborts. Calls of `read` must not overlap it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    let waitMs = ENFORCED_POLL_MS
    while (!signal.aborted) {
      try {
        if (this.#waiting.size === 0) {
          waitMs = ENFORCED_POLL_MS
          await this.#added.wait(signal)
          continue
        }
        const hasNotified = await this.read(signal)
        waitMs = hasNotified ? ENFORCED_POLL_MS : Math.min(waitMs * 1.1, ENFORCED_POLL_MS_MAX)
        await clock.sleep(waitMs, signal)
      } catch {
        // The signal aborted, which ends the loop.
      }
    }
  }

  /** Reads once, and notifies. Returns whether it notified anybody. Logs a failed read, and keeps the last result. */
  async read(signal: AbortSignal): Promise<boolean> {
    const { readEnforced, onEnforced, log } = this.#options
    try {
      this.#last = await readEnforced(signal)
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'reading enforced revision failed')
      return false
    }
    const enforced = [...this.#waiting].filter(([, revision]) => this.isEnforced(revision))
    for (const [key] of enforced) {
      this.#waiting.delete(key)
      onEnforced(key)
    }
    return enforced.length > 0
  }
}
