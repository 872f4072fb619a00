/** Whether something that is started anew whenever it ends, a browser or a thread, is there just now. */
import { ENGINE_START_MS_MAX } from '@platen/contract/limit.ts'
import { raceAbort } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'

/** `starting`: not there, and expected any moment. `broken`: that has gone on for longer than `ENGINE_START_MS_MAX`. */
export type PresenceState = 'starting' | 'running' | 'broken'

export interface Presence {
  state(): PresenceState
  /** Resolves when it is there. Rejects with the signal's reason. */
  ready(signal: AbortSignal): Promise<void>
}

/** A presence as whoever looks after the thing keeps it: not there at first. Told twice is told once. */
export interface KeptPresence extends Presence {
  came(): void
  left(): void
}

export function keepPresence(clock: Clock): KeptPresence {
  let arrival = Promise.withResolvers<void>()
  let isThere = false
  let absentSince = clock.monotonic()
  return {
    state() {
      if (isThere) return 'running'
      return clock.monotonic() - absentSince > ENGINE_START_MS_MAX ? 'broken' : 'starting'
    },
    ready: (signal) => raceAbort(arrival.promise, signal),
    came() {
      isThere = true
      arrival.resolve()
    },
    left() {
      if (!isThere) return
      isThere = false
      absentSince = clock.monotonic()
      arrival = Promise.withResolvers()
    },
  }
}

/** The presence of what needs all of these. */
export function allOf(presences: readonly Presence[]): Presence {
  return {
    state() {
      const states = presences.map((each) => each.state())
      if (states.includes('broken')) return 'broken'
      return states.includes('starting') ? 'starting' : 'running'
    },
    async ready(signal) {
      // One may leave while another is waited for.
      while (presences.some((each) => each.state() !== 'running')) {
        await Promise.all(presences.map((each) => each.ready(signal)))
      }
    },
  }
}
