/** A clock that stands still until a test moves it. */
import type { Instant } from '@platen/contract/brand.ts'
import type { Clock } from '@platen/contract/port/clock.ts'

export interface ManualClock extends Clock {
  /**
   * Advances time by `ms`. Fires the timers that fall due, in order of their time; `now` is then the time of the timer. After each
   * timer the event loop turns once, so that a woken sleeper can set its next timer before time goes on.
   */
  advance(ms: number): Promise<void>
  /** The number of pending sleeps and timeouts. A test advances the clock once the code under test waits. */
  armed(): number
}

interface Timer {
  readonly due: number
  readonly fire: () => void
}

/** A manual clock that begins at `start`. */
export function manualClock(start: Instant = Date.UTC(2026, 10, 21, 9)): ManualClock {
  let now = start
  const timers = new Set<Timer>()

  const arm = (ms: number, fire: () => void): Timer => {
    const timer = { due: now + Math.max(0, ms), fire }
    timers.add(timer)
    return timer
  }

  return {
    now: () => now,
    monotonic: () => now - start,
    armed: () => timers.size,
    sleep(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      if (signal.aborted) return Promise.reject(signal.reason)
      const onAbort = () => {
        timers.delete(timer)
        reject(signal.reason)
      }
      const timer = arm(ms, () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      })
      signal.addEventListener('abort', onAbort, { once: true })
      return promise
    },
    timeout(ms) {
      const controller = new AbortController()
      arm(ms, () => controller.abort(new DOMException(`timed out after ${ms} ms`, 'TimeoutError')))
      return controller.signal
    },
    async advance(ms) {
      const end = now + ms
      for (let timer = earliest(timers, end); timer !== undefined; timer = earliest(timers, end)) {
        timers.delete(timer)
        now = Math.max(now, timer.due)
        timer.fire()
        await eventLoopTurn()
      }
      now = end
      await eventLoopTurn()
    },
  }
}

function earliest(timers: ReadonlySet<Timer>, end: number): Timer | undefined {
  let first: Timer | undefined
  for (const timer of timers) if (timer.due <= end && (first === undefined || timer.due < first.due)) first = timer
  return first
}

function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
