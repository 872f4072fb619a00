/** The limiter of one process, without durability: for tests. */
import { openAllowance } from '@platen/contract/allowance.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'

/** A limiter nobody has used. */
export function memoryLimiter(clock: Clock): Limiter {
  const allowance = openAllowance()
  return {
    async reserve(request, signal) {
      signal.throwIfAborted()
      return allowance.reserve(request, clock.now())
    },
    async confirm(record, signal) {
      signal.throwIfAborted()
      allowance.confirm(record, clock.now())
    },
    async settle(manifest, signal) {
      signal.throwIfAborted()
      allowance.end(manifest, manifest.outcome.status === 'succeeded')
    },
    async usage(account, period, signal) {
      signal.throwIfAborted()
      return allowance.usage(account, period, clock.now())
    },
  }
}
