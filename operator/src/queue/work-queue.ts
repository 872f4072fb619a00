/**
 * What is to be looked at. Reconciling looks at the whole state of an object, so all that is kept of its changes is its key: any
 * number of them before a look cost one look, and any number during one cost one more. What a change is made known by comes before
 * what is looked at again only to be sure.
 *
 * A key is never with two workers at once, and never lost: after the last `add` there is always a whole look that begins later.
 */
import assert from 'node:assert/strict'
import { backOffMs, randomFraction } from '@platen/contract/back-off.ts'
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { ControllerMeter, Priority, WorkState } from '@platen/contract/port/operator-meter.ts'
import { RECONCILE_BACK_OFF } from '../limit.ts'

export interface WorkQueueOptions {
  /** Which line a key stands in; one for all where not said. */
  readonly groupOf?: (key: string) => string
  /** Keys of one line that are with workers at once; no limit where not said. */
  readonly perGroupMax?: number
  readonly clock: Clock
  readonly ids: Ids
  /** Told what `state` is asked for. */
  readonly meter: Pick<ControllerMeter, 'added' | 'deferred' | 'taken' | 'done'>
}

/** Nothing of it throws; what comes after it was closed is left out. */
export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #changed: Notifier = openNotifier()
  readonly #groups = new Map<string, KeyGroup>()
  readonly #processing = new Map<string, { readonly priority: Priority; readonly since: number }>()
  /** Keys that were added while they are with a worker. */
  readonly #addedMeanwhile = new Map<string, Priority>()
  readonly #deferred = new Map<string, Deferred>()
  readonly #failures = new Map<string, number>()
  readonly #drained = Promise.withResolvers<void>()
  #isClosed = false

  constructor(options: WorkQueueOptions) {
    this.#options = options
  }

  /** The key is looked at from its start once more. One that waits already waits on, with the higher priority of the two. */
  add(key: string, priority: Priority = 'live'): void {
    if (this.#isClosed) return
    if (this.#processing.has(key)) return this.#addMeanwhile(key, priority)
    const { live, resync } = this.#groupOf(key)
    if (live.has(key)) return
    const waitingSince = resync.get(key)
    if (waitingSince === undefined) {
      this.#options.meter.added()
      this.#enqueue(key, priority)
    } else if (priority === 'live') {
      resync.delete(key)
      live.set(key, waitingSince)
    }
  }

  /** Adds the key so much later, with the priority it has in hand. Of two such waits for a key the one that ends first is kept. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isClosed) return
    const dueAt = this.#options.clock.monotonic() + delayMs
    const known = this.#deferred.get(key)
    if (known !== undefined && known.dueAt <= dueAt) return
    known?.canceled.abort()
    const deferred = { dueAt, canceled: new AbortController() }
    this.#deferred.set(key, deferred)
    this.#options.meter.deferred()
    void this.#addWhenDue(key, { deferred, delayMs, priority: this.#processing.get(key)?.priority ?? 'live' })
  }

  /** Adds the key later, after a wait that grows with each retry until it is forgotten. Returns the wait in milliseconds. */
  retry(key: string): number {
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    const waitMs = backOffMs(failures, randomFraction(this.#options.ids), RECONCILE_BACK_OFF)
    this.addAfter(key, waitMs)
    return waitMs
  }

  /** The next retry of the key is its first. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Hands out the next key; whoever takes it says `done`. Resolves with undefined when the queue was closed. Rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted()
    while (!this.#isClosed) {
      const next = this.#takeFrom('live') ?? this.#takeFrom('resync')
      if (next !== undefined) return next
      await this.#changed.wait(signal)
    }
    return undefined
  }

  /** Gives back a key that was taken, whatever came of it. */
  done(key: string): void {
    const taken = this.#processing.get(key)
    assert(taken !== undefined, 'only what was taken is given back')
    this.#processing.delete(key)
    const group = this.#groupOf(key)
    group.processing -= 1
    // It may have kept the next of its line waiting.
    if (group.live.size + group.resync.size > 0) this.#changed.notify()
    this.#options.meter.done(this.#options.clock.monotonic() - taken.since)
    const again = this.#addedMeanwhile.get(key)
    this.#addedMeanwhile.delete(key)
    if (again !== undefined && !this.#isClosed) this.#enqueue(key, again)
    this.#resolveIfDrained()
  }

  /**
   * Hands out nothing more; resolves when all that was taken is given back. What waits is left: whoever comes next looks at everything.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { canceled } of this.#deferred.values()) canceled.abort()
    this.#changed.notify()
    this.#resolveIfDrained()
    await this.#drained.promise
  }

  /** For a scrape. */
  state(): WorkState {
    const now = this.#options.clock.monotonic()
    return {
      waiting: { live: this.#waiting('live'), resync: this.#waiting('resync') },
      runningMs: Array.from(this.#processing.values(), ({ since }) => now - since),
    }
  }

  #addMeanwhile(key: string, priority: Priority): void {
    if (!this.#addedMeanwhile.has(key)) this.#options.meter.added()
    if (this.#addedMeanwhile.get(key) !== 'live') this.#addedMeanwhile.set(key, priority)
  }

  #enqueue(key: string, priority: Priority): void {
    this.#groupOf(key)[priority].set(key, this.#options.clock.monotonic())
    this.#changed.notify()
  }

  #waiting(priority: Priority): number {
    return this.#groups.values().reduce((sum, line) => sum + line[priority].size, 0)
  }

  #groupOf(key: string): KeyGroup {
    const name = this.#options.groupOf?.(key) ?? ''
    const group = this.#groups.get(name) ?? { live: new Map(), resync: new Map(), processing: 0 }
    this.#groups.set(name, group)
    return group
  }

  #takeFrom(priority: Priority): string | undefined {
    const { clock, meter, perGroupMax = Number.POSITIVE_INFINITY } = this.#options
    for (const [name, group] of this.#groups) {
      const [next] = group[priority]
      if (next === undefined || group.processing >= perGroupMax) continue
      const [key, waitingSince] = next
      const now = clock.monotonic()
      group[priority].delete(key)
      group.processing += 1
      // The others come first now.
      this.#groups.delete(name)
      this.#groups.set(name, group)
      this.#processing.set(key, { priority, since: now })
      meter.taken(now - waitingSince)
      return key
    }
    return undefined
  }

  async #addWhenDue(key: string, { deferred, delayMs, priority }: DeferredAdd): Promise<void> {
    try {
      await this.#options.clock.sleep(delayMs, deferred.canceled.signal)
    } catch {
      // One that ends sooner took its place, or the queue was closed.
      return
    }
    // One that ends sooner may have come at this very moment.
    if (this.#deferred.get(key) === deferred) this.#deferred.delete(key)
    this.add(key, priority)
  }

  #resolveIfDrained(): void {
    if (this.#isClosed && this.#processing.size === 0) this.#drained.resolve()
  }
}

/** Keys that wait for a worker, and since when, in the order they are given out. */
interface KeyGroup extends Readonly<Record<Priority, Map<string, number>>> {
  /** Keys that are with workers. */
  processing: number
}

interface Deferred {
  readonly dueAt: number
  readonly canceled: AbortController
}

interface DeferredAdd {
  readonly deferred: Deferred
  readonly delayMs: number
  readonly priority: Priority
}
