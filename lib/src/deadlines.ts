/**
 * Many time limits of one length at once, served by one timer: a timer and a signal for each would cost as much as sending a request. Most
 * of them never expire.
 */
import type { Clock } from './clock.ts'

/** Disposing it ends all limits; none of them expires then. */
export interface Deadlines extends Disposable {
  /** Calls `onExpired`, which must not throw, when the time is over, never early. Disposing the limit ends it. */
  start(onExpired: () => void): Disposable
}

interface Deadline extends Disposable {
  /** Monotonic time. */
  readonly endsAt: number
  readonly onExpired: () => void
}

export function openDeadlines(clock: Pick<Clock, 'monotonic' | 'sleep'>, ms: number): Deadlines {
  /** In the order of their ends, because all are equally long. */
  const pending = new Set<Deadline>()
  const closed = new AbortController()
  let isWatched = false
  /** Ends those that are over, and sleeps until the next. */
  const watch = () => {
    for (const one of pending) {
      const leftMs = one.endsAt - clock.monotonic()
      if (leftMs > 0) {
        clock.sleep(leftMs, closed.signal).then(watch, () => undefined)
        return
      }
      pending.delete(one)
      one.onExpired()
    }
    isWatched = false
  }
  return {
    start(onExpired) {
      const endsAt = clock.monotonic() + ms
      const one: Deadline = { endsAt, onExpired, [Symbol.dispose]: () => pending.delete(one) }
      pending.add(one)
      if (!isWatched) {
        isWatched = true
        watch()
      }
      return one
    },
    [Symbol.dispose]() {
      pending.clear()
      closed.abort('closed')
    },
  }
}
