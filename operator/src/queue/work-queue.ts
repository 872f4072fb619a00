/**
 * The keys of objects that must be reconciled. A reconcile reads the whole state of an object, so the queue keeps only its key. Any number
 * of changes before a reconcile cost one reconcile, and any number during it cost one more. Live changes come before resyncs, but do not
 * delay them for ever.
 *
 * No two workers have the same key at once, and no key is lost: after the last `add`, a full reconcile always starts later.
 */

import assert from 'node:assert/strict'
import type { ControllerMeter, Priority, WorkState } from '@platen/contract/port/operator-meter.ts'
import { type BackOff, backOffMs, randomFraction } from '@platen/lib/back-off.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { raceAbort } from '@platen/lib/race.ts'

const SECOND_MS = 1000

/** Wait before a failed key is reconciled again. A conflict is over at once, and a service that is away for long is not asked often. */
export const RECONCILE_BACK_OFF: BackOff = { msMin: 50, msMax: 60 * SECOND_MS }

export interface WorkQueueOptions {
  /** Without it, all keys are in one group. */
  readonly groupOf?: (key: string) => string
  /** Keys of one group that workers may have at once. Without it, there is no limit. */
  readonly perGroupMax?: number
  readonly clock: Clock
  readonly ids: Ids
  /** Counts events. `state` returns what waits and runs now. */
  readonly meter: Pick<ControllerMeter, 'added' | 'deferred' | 'taken' | 'done'>
}

/** Live keys in a row before a resync has its turn, so that it does not wait for ever. */
const LIVE_IN_A_ROW_MAX = 8

/** `add`, `addAfter` and `retry` never throw. After `close` they add nothing. */
export class WorkQueue {
  readonly #options: WorkQueueOptions
  /** Each wakes a worker that waits for a key; in order of arrival. */
  readonly #waiters = new Set<() => void>()
  readonly #groups = new Map<string, KeyGroup>()
  readonly #processing = new Map<string, { readonly priority: Priority; readonly since: number }>()
  /** Keys that were added while a worker has them. */
  readonly #addedMeanwhile = new Map<string, Priority>()
  /** When each deferred key is due, in whole milliseconds on the monotonic clock. */
  readonly #dueAt = new Map<string, number>()
  /** The deferred keys by due time, with their priority. Keys that are due in the same millisecond share a timer. */
  readonly #due = new Map<number, Map<string, Priority>>()
  readonly #closing = new AbortController()
  readonly #failures = new Map<string, number>()
  readonly #drained = Promise.withResolvers<void>()
  #liveInARow = 0
  #isClosed = false

  constructor(options: WorkQueueOptions) {
    this.#options = options
  }

  /** Adds a key for a full reconcile. A key that already waits keeps its place, with the higher of the two priorities. */
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

  /** Adds the key after a delay, with the priority it has in progress. Of two delays of a key, the one that ends first remains. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isClosed) return
    const dueAt = Math.ceil(this.#options.clock.monotonic() + delayMs)
    const known = this.#dueAt.get(key)
    if (known !== undefined && known <= dueAt) return
    if (known !== undefined) this.#due.get(known)?.delete(key)
    this.#dueAt.set(key, dueAt)
    this.#options.meter.deferred()
    const keys = this.#due.get(dueAt) ?? this.#openDue(dueAt)
    keys.set(key, this.#processing.get(key)?.priority ?? 'live')
  }

  /** Makes the list of the keys due at a time. They are added then, unless the queue closes before. */
  #openDue(dueAt: number): Map<string, Priority> {
    const { clock } = this.#options
    const keys = new Map<string, Priority>()
    this.#due.set(dueAt, keys)
    const addAll = () => {
      this.#due.delete(dueAt)
      for (const [key, priority] of keys) {
        this.#dueAt.delete(key)
        this.add(key, priority)
      }
    }
    clock.sleep(dueAt - clock.monotonic(), this.#closing.signal).then(addAll, () => undefined)
    return keys
  }

  /** Adds the key after a wait that grows with each retry until `forget`. Returns the wait in milliseconds. */
  retry(key: string): number {
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    const waitMs = backOffMs(failures, RECONCILE_BACK_OFF, randomFraction(this.#options.ids))
    this.addAfter(key, waitMs)
    return waitMs
  }

  forget(key: string): void {
    this.#failures.delete(key)
  }

  /**
   * Returns the next key. The caller must call `done` for it. Resolves with undefined when the queue is closed. Rejects with the signal's
   * reason.
   */
  async take(signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted()
    while (!this.#isClosed) {
      const next = this.#next()
      if (next !== undefined) return next
      await this.#untilWoken(signal)
    }
    return undefined
  }

  /** Must be called after success and failure. */
  done(key: string): void {
    const taken = this.#processing.get(key)
    assert(taken !== undefined, 'only what was taken is given back')
    this.#processing.delete(key)
    const group = this.#groupOf(key)
    group.processing -= 1
    // The group may have been at its limit, so its next key can go now.
    if (group.live.size + group.resync.size > 0) this.#wakeOne()
    this.#options.meter.done(this.#options.clock.monotonic() - taken.since)
    const again = this.#addedMeanwhile.get(key)
    this.#addedMeanwhile.delete(key)
    if (again !== undefined && !this.#isClosed) this.#enqueue(key, again)
    this.#resolveIfDrained()
  }

  /**
   * Hands out no more keys. Resolves when `done` was called for every key that was taken. Drops the waiting keys: the next leader
   * reconciles everything.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#closing.abort()
    for (const wake of this.#waiters) wake()
    this.#resolveIfDrained()
    await this.#drained.promise
  }

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
    this.#wakeOne()
  }

  /** Wakes one worker for one key. If all woke, the others would find nothing and wait again. */
  #wakeOne(): void {
    const [wake] = this.#waiters
    wake?.()
  }

  async #untilWoken(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => {
      this.#waiters.delete(wake)
      resolve()
    }
    this.#waiters.add(wake)
    try {
      await raceAbort(promise, signal)
    } finally {
      // A worker that was woken and gives up at that moment wakes the next one.
      if (!this.#waiters.delete(wake) && signal.aborted) this.#wakeOne()
    }
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

  #next(): string | undefined {
    const isLiveFirst = this.#liveInARow < LIVE_IN_A_ROW_MAX
    const [first, second] = isLiveFirst ? (['live', 'resync'] as const) : (['resync', 'live'] as const)
    return this.#takeFrom(first) ?? this.#takeFrom(second)
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
      this.#liveInARow = priority === 'live' ? this.#liveInARow + 1 : 0
      // Moves the group to the end, so that other groups come first.
      this.#groups.delete(name)
      this.#groups.set(name, group)
      this.#processing.set(key, { priority, since: now })
      meter.taken(now - waitingSince)
      return key
    }
    return undefined
  }

  #resolveIfDrained(): void {
    if (this.#isClosed && this.#processing.size === 0) this.#drained.resolve()
  }
}

/** Waiting keys, and since when they wait, in the order in which they are handed out. */
interface KeyGroup extends Readonly<Record<Priority, Map<string, number>>> {
  processing: number
}
