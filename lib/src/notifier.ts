/**
 * Wakes waiters inside one process. Ports promise that no wake-up is lost, so a notification between checking and waiting must count.
 * Several may wait if each checks and waits in the same turn of the event loop. A waiter that does something in between needs its own
 * notifier. An abandoned wait, for example by `Promise.race`, takes no notification from the next one.
 */
import { raceAbort } from './race.ts'

export interface Notifier {
  /** Wakes the current waiter, or the next one. */
  notify(): void
  /** Resolves when notified since the last wait; may resolve once too often. Rejects with the signal's reason. */
  wait(signal: AbortSignal): Promise<void>
}

/** Opens a notifier that counts as notified once, so that the first waiter checks first. */
export function openNotifier(): Notifier {
  let isNotified = true
  // Not one promise for all: until it settles it would keep each wait that was abandoned, and a lane without renders is never notified.
  const waiting = new Set<() => void>()
  return {
    notify() {
      // Kept for the next waiter even if one is woken now: that one may have been abandoned.
      isNotified = true
      for (const wake of waiting) wake()
    },
    async wait(signal) {
      signal.throwIfAborted()
      if (isNotified) {
        isNotified = false
        return
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.add(resolve)
      try {
        await raceAbort(promise, signal)
      } finally {
        waiting.delete(resolve)
      }
    },
  }
}
