/** Whether something that is started anew whenever it ends, a browser or a thread, is there just now. */
import { ENGINE_START_MS_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort } from '@platen/contract/race.ts'

/** `starting`: not there, and expected any moment. `broken`: that has gone on for longer than `ENGINE_START_MS_MAX`. */
export type AvailabilityState = 'starting' | 'running' | 'broken'

export interface Availability {
  state(): AvailabilityState
  /** Resolves when it is there. Rejects with the signal's reason. */
  ready(signal: AbortSignal): Promise<void>
}

/** A presence as whoever looks after the thing keeps it: not there at first. Told twice is told once. */
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

/** The presence of what needs all of these. */
export function availabilityOfAll(parts: readonly Availability[]): Availability {
  return {
    state() {
      const states = parts.map((each) => each.state())
      if (states.includes('broken')) return 'broken'
      return states.includes('starting') ? 'starting' : 'running'
    },
    async ready(signal) {
      // One may leave while another is waited for.
      while (parts.some((each) => each.state() !== 'running')) {
        await Promise.all(parts.map((each) => each.ready(signal)))
      }
    },
  }
}
