/**
 * The first attempt at a delivery, made before the delivery is stored. Most receivers answer at once. Their deliveries are then written
 * once, with the result, and need no reminder. The event of a delivery counts as unread meanwhile, so a process that dies loses nothing.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DueDelivery } from '@platen/contract/port/delivery-log.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { FIRST_ATTEMPT_MS_MAX } from '../limit.ts'

/** A delivery that was given out and is not stored yet. */
export interface FirstAttempt {
  /** Returns false if the delivery was taken back: then nothing may be done with it. */
  begin(): boolean
  /** To be called when the result is stored. */
  stored(): void
  /**
   * Resolves when the result is stored, or after `FIRST_ATTEMPT_MS_MAX`. A delivery that has not begun by then is taken back. Never rejects.
   */
  settled(clock: Pick<Clock, 'timeout'>): Promise<'stored' | 'begun' | 'taken_back'>
}

/** Makes one that has not begun. */
export function openFirstAttempt(): FirstAttempt {
  const ended = Promise.withResolvers<void>()
  let state: 'waiting' | 'begun' | 'stored' | 'taken_back' = 'waiting'
  return {
    begin() {
      if (state === 'waiting') state = 'begun'
      return state !== 'taken_back'
    },
    stored() {
      state = 'stored'
      ended.resolve()
    },
    async settled(clock) {
      await raceAbort(ended.promise, clock.timeout(FIRST_ATTEMPT_MS_MAX)).catch(() => undefined)
      if (state === 'waiting') state = 'taken_back'
      return state
    },
  }
}

/** A due delivery that does nothing once it was taken back. */
export function ofFirstAttempt(first: FirstAttempt, due: DueDelivery): DueDelivery {
  return {
    ...due,
    begin: () => first.begin(),
    async defer(waitMs, reason) {
      if (first.begin()) await due.defer(waitMs, reason)
    },
  }
}
