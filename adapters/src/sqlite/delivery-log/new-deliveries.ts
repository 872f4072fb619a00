/**
 * New deliveries, which go to the consumer before they are stored. A receiver that answers at once costs one row, written with the result,
 * instead of a row that is written, taken and written again.
 */

import type { Attempt, Delivery } from '@platen/contract/domain/delivery.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { DueDelivery, NextStatus } from '@platen/contract/port/delivery-log.ts'
import {
  type FirstAttempt,
  type FirstAttemptLimits,
  firstAttemptLimits,
  ofFirstAttempt,
  openFirstAttempt,
  openFirstAttempts,
} from '@platen/contract/port/first-attempt.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Command } from '../connection.ts'
import { type Database, textIn } from '../database.ts'

const KNOWN = `SELECT id FROM delivery WHERE id IN (SELECT value FROM json_each(?))`
/** Parameter 5 is 1 if the consumer has the delivery in hand. */
const SCHEDULE = `INSERT INTO delivery (id, render, delivery, status, due_at, next_at, taken) VALUES (?1, ?2, ?3, 'scheduled', ?4, ?4, ?5)
  ON CONFLICT DO NOTHING RETURNING next_at`
/**
 * Writes the result of the first attempt. If that took long, the delivery was stored meanwhile, and its redelivery may have been requested.
 */
const RESULT = `INSERT INTO delivery (id, render, delivery, status, due_at, next_at, reason, attempts, calls)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, json_array_length(?8), ?8)
  ON CONFLICT DO UPDATE SET status = excluded.status, due_at = excluded.due_at, reason = excluded.reason, attempts = excluded.attempts,
    calls = excluded.calls, taken = 0, next_at = iif(asked > 0, ?9, excluded.next_at)
  RETURNING next_at`

interface NewDeliveriesPorts {
  readonly database: Database
  readonly clock: Clock
  /** Limits the wait for a first attempt. */
  readonly timer: Pick<Clock, 'monotonic' | 'sleep'>
  /** Runs a command whose rows contain the next due time of a delivery. */
  readonly write: (command: Command) => Promise<unknown>
  /** Called when `next` has a delivery. */
  readonly onNew: () => void
}

/** A delivery that was given out and has no result yet. */
interface Held {
  readonly delivery: Delivery
  readonly dueAt: Instant
  readonly first: FirstAttempt
  readonly permit: Disposable
  /** Resolves when the delivery is stored, or could not be. */
  readonly known: Promise<void>
  isForgotten: boolean
}

/** What follows an attempt. Without attempts, it was deferred. */
interface Result {
  readonly attempts: readonly Attempt[]
  readonly status: NextStatus['status']
  readonly dueAt: Instant | null
  readonly nextAt: Instant | null
  readonly reason: string | undefined
}

export class NewDeliveries {
  readonly #ports: NewDeliveriesPorts
  readonly #attempts = openFirstAttempts()
  readonly #limits: FirstAttemptLimits
  /** By delivery: the call that schedules it. A second call waits for it, so that no receiver is called twice. */
  readonly #underWay = new Map<string, Promise<void>>()
  /** Deliveries that wait for a permit. */
  readonly #waiting = new Set<Delivery>()
  readonly #held = new Map<string, Held>()
  readonly #given: DueDelivery[] = []
  #isConsumed = false

  constructor(ports: NewDeliveriesPorts) {
    this.#ports = ports
    this.#limits = firstAttemptLimits(ports.timer)
  }

  /** Gives new deliveries to the consumer, if there is one. Resolves when all are stored, with or without a result. */
  async schedule(deliveries: readonly Delivery[]): Promise<void> {
    const others = deliveries.flatMap(({ id }) => this.#underWay.get(id) ?? [])
    const own = deliveries.filter(({ id }) => !this.#underWay.has(id))
    const scheduled = this.#schedule(own)
    for (const { id } of own) this.#underWay.set(id, scheduled)
    try {
      await scheduled
    } finally {
      for (const { id } of own) this.#underWay.delete(id)
    }
    await Promise.all(others)
  }

  /** Call it when a consumer begins and when it ends. */
  setConsumed(isConsumed: boolean): void {
    this.#isConsumed = isConsumed
    // Deliveries whose attempt has not begun are taken back.
    if (!isConsumed) this.#given.length = 0
  }

  next(): DueDelivery | undefined {
    return this.#given.shift()
  }

  /** If the delivery is at its first attempt, resolves when it is stored, or could not be. */
  async known(id: string): Promise<void> {
    await this.#held.get(id)?.known
  }

  async knownOf(render: RenderId): Promise<void> {
    await Promise.all(this.#heldOf(render).map(({ known }) => known))
  }

  /** From now on, no new delivery of the render is stored. */
  forget(render: RenderId): void {
    for (const delivery of this.#waiting) if (delivery.render === render) this.#waiting.delete(delivery)
    for (const one of this.#heldOf(render)) one.isForgotten = true
  }

  async #schedule(deliveries: readonly Delivery[]): Promise<void> {
    if (!this.#isConsumed) return await this.#storeScheduled(deliveries, false)
    const ids = JSON.stringify(deliveries.map(({ id }) => id))
    const [rows = []] = await this.#ports.database.run([{ sql: KNOWN, values: [ids] }])
    const stored = new Set(rows.map((row) => textIn(row, 'id')))
    const others = deliveries.filter(({ id }) => !stored.has(id))
    for (const delivery of others) this.#waiting.add(delivery)
    await this.#attempts(others, (delivery, permit) => this.#attemptFirst(delivery, permit))
  }

  async #attemptFirst(delivery: Delivery, permit: Disposable): Promise<void> {
    const { clock, onNew } = this.#ports
    if (!this.#waiting.delete(delivery)) return
    const isHeld = this.#held.has(delivery.id)
    // It may still be held, because it could not be stored before.
    if (!this.#isConsumed || isHeld) return await this.#storeScheduled([delivery], isHeld)
    const first = openFirstAttempt()
    const known = Promise.withResolvers<void>()
    const one: Held = { delivery, dueAt: clock.now(), first, permit, known: known.promise, isForgotten: false }
    this.#held.set(delivery.id, one)
    this.#given.push(dueOf(one, clock, (result) => this.#storeResult(one, result)))
    onNew()
    try {
      const settled = await first.settled(this.#limits)
      if (settled === 'taken_back') this.#held.delete(delivery.id)
      if (settled !== 'stored' && !one.isForgotten) await this.#storeScheduled([delivery], settled === 'begun')
    } finally {
      known.resolve()
    }
  }

  async #storeScheduled(deliveries: readonly Delivery[], isTaken: boolean): Promise<void> {
    const now = this.#ports.clock.now()
    const insert = (delivery: Delivery) => ({ sql: SCHEDULE, values: [...rowOf(delivery), now, Number(isTaken)] })
    await this.#ports.write(deliveries.map(insert))
  }

  async #storeResult({ delivery, permit, isForgotten }: Held, result: Result): Promise<void> {
    const { clock, write } = this.#ports
    // The receiver has answered. A slow disk is no reason to call fewer receivers.
    permit[Symbol.dispose]()
    const { status, dueAt, nextAt, reason = null } = result
    const values = [...rowOf(delivery), status, dueAt, nextAt, reason, JSON.stringify(result.attempts), clock.now()]
    if (!isForgotten) await write([{ sql: RESULT, values }])
    this.#held.delete(delivery.id)
  }

  #heldOf(render: RenderId): Held[] {
    return [...this.#held.values()].filter(({ delivery }) => delivery.render === render)
  }
}

function rowOf(delivery: Delivery): [id: string, render: RenderId, delivery: string] {
  return [delivery.id, delivery.render, JSON.stringify(delivery)]
}

function dueOf(one: Held, clock: Clock, store: (result: Result) => Promise<void>): DueDelivery {
  const { delivery, dueAt, first } = one
  return ofFirstAttempt(first, {
    delivery,
    attempts: 0,
    isRedelivery: false,
    dueAt,
    async record(attempt, next = { status: 'scheduled', waitMs: 0 }) {
      const isOver = next.status !== 'scheduled'
      const nextAt = isOver ? null : clock.now() + next.waitMs
      const reason = isOver ? next.reason : undefined
      await store({ attempts: [attempt], status: next.status, dueAt: nextAt, nextAt, reason })
    },
    async defer(waitMs, reason) {
      await store({ attempts: [], status: 'scheduled', dueAt, nextAt: clock.now() + waitMs, reason })
    },
  })
}
