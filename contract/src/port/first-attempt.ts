/**
 * The first attempt at a delivery, made before the delivery is stored. Most receivers answer at once. Their deliveries are then written
 * once, with the result. The event of a delivery counts as unread meanwhile, so a process that dies loses nothing.
 */

import type { Clock } from '@platen/lib/clock.ts'
import { type Deadlines, openDeadlines } from '@platen/lib/deadlines.ts'
import { openFairSemaphore } from '@platen/lib/fair-semaphore.ts'
import type { Delivery } from '../domain/delivery.ts'
import { FIRST_ATTEMPT_MS_MAX } from '../domain/limit.ts'
import type { DueDelivery } from './delivery-log.ts'

/**
 * Deliveries whose first attempt is waited for at once: in all, and of one tenant. The latter are as many as may wait for one receiver,
 * since others would be postponed. If none of the receivers of a tenant answers, 640 of its deliveries a second are still stored.
 */
export const FIRST_ATTEMPTS_MAX = 128
export const FIRST_ATTEMPTS_PER_TENANT_MAX = 64

/** A delivery that was given out and is not stored yet. */
export interface FirstAttempt {
  /** Returns false if the delivery was taken back: then nothing may be done with it. */
  begin(): boolean
  /** Stores the result. Rejects as `write` does; it may then be called again. */
  store(write: () => Promise<void>): Promise<void>
  /**
   * Resolves when the result is stored, or when the limit is over. A delivery that has not begun by then is taken back. A result that is
   * being stored by then is waited for: storing the delivery as well would only slow down a store that is slow already. Never rejects.
   */
  settled(limits: FirstAttemptLimits): Promise<'stored' | 'begun' | 'taken_back'>
}

/** How long first attempts are waited for. */
export type FirstAttemptLimits = Pick<Deadlines, 'start'>

/** Makes the limits of first attempts. They need not be closed: their timer ends when the last limit is over. */
export function firstAttemptLimits(clock: Pick<Clock, 'monotonic' | 'sleep'>): FirstAttemptLimits {
  return openDeadlines(clock, FIRST_ATTEMPT_MS_MAX)
}

/** Makes one that has not begun. */
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

/** A due delivery whose result is that of the first attempt, and that does nothing once it was taken back. */
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
 * Makes the first attempts at deliveries, each with a permit that it may release early. Rejects when one does, after all have ended.
 * Each ends by itself, also while stopping: a call that is under way must not be made again.
 */
type FirstAttempts = (
  deliveries: readonly Delivery[],
  attempt: (delivery: Delivery, permit: Disposable) => Promise<void>,
) => Promise<void>

/** Limits those of all calls together. Tenants take turns, so that one whose receivers do not answer delays the others little. */
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
