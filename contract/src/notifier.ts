/**
 * Wakes whoever waits for something inside one process. Ports promise that no wake-up is lost: a notification between looking and
 * waiting must count. Several may wait if each looks and waits in one turn of the event loop; a party that does something in between
 * needs a notifier of its own. A wait that was abandoned, for example by `Promise.race`, takes no notification from the next.
 */
import { raceAbort } from './race.ts'

export interface Notifier {
  /** Wakes the one who waits, or who waits next. */
  notify(): void
  /** Resolves when it was notified since the last wait; at times once more than that. Rejects with the signal's reason. */
  wait(signal: AbortSignal): Promise<void>
}

/** A notifier that was already notified once, so that the first to wait looks first. */
export function openNotifier(): Notifier {
  let isNotified = true
  let next = Promise.withResolvers<void>()
  return {
    notify() {
      // Kept for the next to wait even if somebody is woken now: it may be a wait nobody listens to any more.
      isNotified = true
      next.resolve()
      next = Promise.withResolvers()
    },
    async wait(signal) {
      signal.throwIfAborted()
      if (!isNotified) return raceAbort(next.promise, signal)
      isNotified = false
    },
  }
}
