/**
 * Wakes waiters inside one process. Ports promise that no wake-up is lost, so a notification between checking and waiting counts. Several
 * may wait if each checks and waits in the same turn of the event loop; a waiter that does something in between needs its own notifier. An
 * abandoned wait, for example by `Promise.race`, takes no notification from the next one.
 */
import { raceAbort } from './race.ts'

export interface Notifier {
  /** Wakes the current waiters. The next wait resolves at once, too. */
  notify(): void
  /** Resolves when notified since the last wait; may resolve once too often. Rejects with the signal's reason. */
  wait(signal: AbortSignal): Promise<void>
}

/** Counts as notified once, so that the first waiter checks first. */
export function openNotifier(): Notifier {
  let isNotified = true
  // One promise for all would keep each abandoned wait until it settles, and a lane without renders is never notified.
  const waiting = new Set<() => void>()
  return {
    notify() {
      // Also kept for the next waiter: the one that is woken now may have been abandoned.
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
