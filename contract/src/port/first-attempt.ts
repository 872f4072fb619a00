/**
 * The first attempt at a delivery, before the delivery is stored. Most receivers answer at once, and then the delivery is written once,
 * with the result. Its event counts as unread meanwhile, so a process that dies loses nothing.
 */

import type { Clock } from '@platen/lib/clock.ts'
import { type Deadlines, openDeadlines } from '@platen/lib/deadlines.ts'
import { openFairSemaphore } from '@platen/lib/fair-semaphore.ts'
import type { Delivery } from '../domain/delivery.ts'
import { FIRST_ATTEMPT_MS_MAX } from '../domain/limit.ts'
import type { DueDelivery } from './delivery-log.ts'

/**
 * First attempts that are waited for at once: in all, and of one tenant. One receiver lets as many of a tenant wait; more would be
 * postponed. If no receiver of a tenant answers, 640 of its deliveries a second are still stored.
 */
export const FIRST_ATTEMPTS_MAX = 128
export const FIRST_ATTEMPTS_PER_TENANT_MAX = 64

/** A delivery that was handed out and is not stored yet. */
export interface FirstAttempt {
  /** False if the delivery was taken back: do nothing with it. */
  begin(): boolean
  /** Stores the result. Rejects as `write` does, and may then be called again. */
  store(write: () => Promise<void>): Promise<void>
  /**
   * Resolves when the result is stored, or when the limit is over. Takes the delivery back if it has not begun by then. Waits for a result
   * that is being stored: storing the delivery as well would only slow down a slow store more. Never rejects.
   */
  settled(limits: FirstAttemptLimits): Promise<'stored' | 'begun' | 'taken_back'>
}

export type FirstAttemptLimits = Pick<Deadlines, 'start'>

/** Need not be closed: the timer ends when the last limit is over. */
export function firstAttemptLimits(clock: Pick<Clock, 'monotonic' | 'sleep'>): FirstAttemptLimits {
  return openDeadlines(clock, FIRST_ATTEMPT_MS_MAX)
}

export function openFirstAttempt(): FirstAttempt {
  const ended = Promise.withResolvers<void>()
  let state: 'waiting' | 'begun' | 'stored' | 'taken_back' = 'waiting'
  /** Never rejects. */
  let storing: Promise<void> | undefined
  return {
    begin() {
      if (state === 'waiting') state = 'begun'
      return state !== 'taken_back'
    },
    async store(write) {
      const writing = write()
      const onStored = () => {
        state = 'stored'
        ended.resolve()
      }
      storing = writing.then(onStored, () => undefined)
      await writing
    },
    async settled(limits) {
      using _limit = limits.start(() => ended.resolve())
      await ended.promise
      await storing
      if (state === 'waiting') state = 'taken_back'
      return state
    },
  }
}

/** Records the result as that of the first attempt, and does nothing once the delivery was taken back. */
export function ofFirstAttempt(first: FirstAttempt, due: DueDelivery): DueDelivery {
  return {
    ...due,
    begin: () => first.begin(),
    record: (attempt, next) => first.store(() => due.record(attempt, next)),
    async defer(waitMs, reason) {
      if (first.begin()) await first.store(() => due.defer(waitMs, reason))
    },
  }
}

/**
 * Makes the first attempts at deliveries, each with a permit that it may release early. Rejects when one does, after all have ended. A stop
 * does not end them: a call that is under way must not be made again.
 */
type FirstAttempts = (
  deliveries: readonly Delivery[],
  attempt: (delivery: Delivery, permit: Disposable) => Promise<void>,
) => Promise<void>

/** The limits are for all calls together. Tenants take turns, so that one whose receivers do not answer delays the others little. */
export function openFirstAttempts(): FirstAttempts {
  const permits = openFairSemaphore({ permits: FIRST_ATTEMPTS_MAX, permitsPerTenant: FIRST_ATTEMPTS_PER_TENANT_MAX })
  return async (deliveries, attempt) => {
    const attempts = deliveries.map(async (delivery) => {
      using permit = await permits.acquire(delivery.account)
      await attempt(delivery, permit)
    })
    await Promise.allSettled(attempts)
    await Promise.all(attempts)
  }
}
