/** Reads which revision every API process enforces, and notifies those that wait for a revision. Reads only while somebody waits. */
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { ENFORCED_POLL_MS, ENFORCED_POLL_MS_MAX } from '../limit.ts'

/** How far the processes are. Counts those that reported recently. */
export interface Enforcement {
  readonly all: number
  /** The number of processes that do not enforce the last revision. */
  readonly behind: number
  /** The lowest revision that any process enforces. The last revision if there are no processes. */
  readonly revision: number
  /** Whether the revision of every process is known. */
  readonly isCertain: boolean
}

export interface PropagationOptions {
  readonly readEnforced: (signal: AbortSignal) => Promise<Enforcement>
  readonly clock: Clock
  readonly log: Log
}

export class Propagation {
  readonly #options: PropagationOptions
  readonly #added: Notifier = openNotifier()
  readonly #waiting = new Map<string, { readonly revision: number; readonly onEnforced: () => void }>()
  #last: Enforcement = { all: 0, behind: 0, revision: 0, isCertain: false }

  constructor(options: PropagationOptions) {
    this.#options = options
  }

  /** The result of the last read. */
  get last(): Enforcement {
    return this.#last
  }

  /** Tells whether every process is known to enforce a revision. */
  isEnforced(revision: number): boolean {
    return this.#last.isCertain && this.#last.revision >= revision
  }

  /** Calls `onEnforced` once, later, when every process enforces a revision. Replaces an earlier wait under the same name. */
  whenEnforced(name: string, revision: number, onEnforced: () => void): void {
    this.#waiting.set(name, { revision, onEnforced })
    this.#added.notify()
  }

  /** Reads and notifies until the signal aborts. */
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
        const hasNotified = await this.#poll(signal)
        waitMs = hasNotified ? ENFORCED_POLL_MS : Math.min(waitMs * 1.1, ENFORCED_POLL_MS_MAX)
        await clock.sleep(waitMs, signal)
      } catch {
        // The signal aborted. The loop condition ends the loop.
      }
    }
  }

  /** Returns whether it notified anybody. */
  async #poll(signal: AbortSignal): Promise<boolean> {
    const { readEnforced, log } = this.#options
    try {
      this.#last = await readEnforced(signal)
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'reading enforced revision failed')
      return false
    }
    const told = [...this.#waiting].filter(([, { revision }]) => this.isEnforced(revision))
    for (const [name] of told) this.#waiting.delete(name)
    for (const [, { onEnforced: tell }] of told) tell()
    return told.length > 0
  }
}
