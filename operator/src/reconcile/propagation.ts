/** Which revision every API process enforces, for those who wait for one. Asked only while somebody waits. */
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { ENFORCED_POLL_MS, ENFORCED_POLL_MS_MAX } from '../limit.ts'

/** How far the processes are that said so lately. */
export interface Enforcement {
  readonly all: number
  /** How many of them do not enforce the last revision. */
  readonly behind: number
  /** What each of them enforces at least; the last revision where there are none. */
  readonly revision: number
  /** Is it known of each? */
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

  /** As it was when it was last asked for. */
  get last(): Enforcement {
    return this.#last
  }

  /** Does every process enforce a revision, as far as is known? */
  isEnforced(revision: number): boolean {
    return this.#last.isCertain && this.#last.revision >= revision
  }

  /** Tells once, after this, that every process enforces a revision. Who waits under a name already no longer waits for what it did. */
  whenEnforced(name: string, revision: number, onEnforced: () => void): void {
    this.#waiting.set(name, { revision, onEnforced })
    this.#added.notify()
  }

  /** Asks and tells until the signal aborts. */
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
        // It was aborted, and the loop sees that.
      }
    }
  }

  /** Answers whether somebody was told. */
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
