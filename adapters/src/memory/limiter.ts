/** The limiter of one process, without durability, for tests. */
import { chargeOf } from '@platen/contract/charge-sums.ts'
import { openLimiterState } from '@platen/contract/limiter-state.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'

/** Makes a limiter that nobody has used. */
export function memoryLimiter(clock: Clock): Limiter {
  const state = openLimiterState()
  return {
    async reserve(request, signal) {
      signal.throwIfAborted()
      return state.reserve(request, clock.now())
    },
    async confirm(record, signal) {
      signal.throwIfAborted()
      state.confirm(record, clock.now())
    },
    async complete(manifest, signal) {
      signal.throwIfAborted()
      state.complete(manifest, chargeOf(manifest))
    },
    async usage(account, period, signal) {
      signal.throwIfAborted()
      return state.usage(account, period, clock.now())
    },
    async report(query, signal) {
      signal.throwIfAborted()
      return state.report(query, clock.now())
    },
  }
}
