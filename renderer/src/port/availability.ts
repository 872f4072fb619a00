/** Whether a browser or a thread is available now. Both are started again whenever they end. */
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'

const SECOND_MS = 1000

/** How long a browser or a render thread may take to start. After that its engine counts as broken, and requests get 503 at once. */
export const ENGINE_START_MS_MAX = 10 * SECOND_MS

/** `starting`: expected soon. `broken`: unavailable for longer than `ENGINE_START_MS_MAX`. */
export type AvailabilityState = 'starting' | 'running' | 'broken'

export interface Availability {
  state(): AvailabilityState
  /** Rejects with the signal's reason. */
  ready(signal: AbortSignal): Promise<void>
}

/** For the code that starts and stops the resource. Not available at first. Repeated calls change nothing. */
export interface AvailabilityTracker extends Availability {
  markAvailable(): void
  markUnavailable(): void
}

export function trackAvailability(clock: Clock): AvailabilityTracker {
  let arrival = Promise.withResolvers<void>()
  let isAvailable = false
  let unavailableSince = clock.monotonic()
  return {
    state() {
      if (isAvailable) return 'running'
      return clock.monotonic() - unavailableSince > ENGINE_START_MS_MAX ? 'broken' : 'starting'
    },
    ready: (signal) => raceAbort(arrival.promise, signal),
    markAvailable() {
      isAvailable = true
      arrival.resolve()
    },
    markUnavailable() {
      if (!isAvailable) return
      isAvailable = false
      unavailableSince = clock.monotonic()
      arrival = Promise.withResolvers()
    },
  }
}

export function availabilityOfAll(parts: readonly Availability[]): Availability {
  return {
    state() {
      const states = parts.map((each) => each.state())
      if (states.includes('broken')) return 'broken'
      return states.includes('starting') ? 'starting' : 'running'
    },
    async ready(signal) {
      // One part may fail while we wait for another.
      while (parts.some((each) => each.state() !== 'running')) {
        await Promise.all(parts.map((each) => each.ready(signal)))
      }
    },
  }
}
