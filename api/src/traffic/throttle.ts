/**
 * Limits what a request may cost before a limit of its plan applies. Charges the API key, or the address if there is no valid key. The plan
 * limits admitted renders. This throttle counts refused, replayed, read and merely sent requests, separately in each API process. It
 * charges a bucket before the work is done.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { TrafficLimits } from '@platen/contract/domain/limit.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import { networkOf } from '@platen/lib/address.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { BODY_PIECE_BYTES_MIN } from './limit.ts'
import { openTokenBuckets, type TokenBuckets } from './token-buckets.ts'

/** Keys, and addresses, whose requests of the last minute an API process counts. Each takes about 200 bytes. */
const CALLERS_COUNTED_MAX = 10_000

/** A refusal by the throttle itself. Nobody is charged for it: otherwise a caller that keeps trying would never be admitted again. */
export class Throttled extends ServiceError {
  constructor(message: string, { waitMs, closes = false }: { waitMs: number; closes?: boolean }) {
    const seconds = Math.max(1, Math.ceil(waitMs / 1000))
    const headers = { 'retry-after': `${seconds}`, ...(closes && { connection: 'close' }) }
    super('RATE_LIMITED', `${message}; try again in ${seconds} s.`, { headers })
  }
}

const ADDRESS_WAIT_MS = 10_000

export function tooManyOfAddress(): Throttled {
  return new Throttled('Too many requests from this address have no valid API key', {
    waitMs: ADDRESS_WAIT_MS,
    closes: true,
  })
}

export interface Throttle {
  /** Admits a request that is not for a render. Throws `RATE_LIMITED`. */
  readonly request: (key: KeyHash) => void
  /** Admits a request for a render, and returns the payer of its body. Both throw `RATE_LIMITED`. */
  readonly render: (key: KeyHash) => BodyPayer
  /** Charges a request for a render that was refused or replayed: no limit of the plan counts it. */
  readonly chargeRefusal: (key: KeyHash) => void
  /**
   * Charges a request without a valid key to its address, if it is refused or its answer is large. Returns false if the address has had too
   * many.
   */
  readonly chargeAddress: (address: string) => boolean
}

export interface BodyPayer {
  /** `bytes` and `pieces` are totals, received or announced. Throws the refusal when that is too much. */
  readonly charge: (bytes: number, pieces: number) => void
}

export function openThrottle(limits: TrafficLimits, clock: Pick<Clock, 'monotonic'>): Throttle {
  const ofKeys = (perMinute: number) => openTokenBuckets({ perMinute, namesMax: CALLERS_COUNTED_MAX, clock })
  const requests = ofKeys(limits.keyRequests)
  const refusals = ofKeys(limits.keyRefusals)
  const bytes = ofKeys(limits.keyBytes)
  const addresses = openTokenBuckets({ perMinute: limits.addressRefusals, namesMax: CALLERS_COUNTED_MAX, clock })
  const require = (buckets: TokenBuckets, [key, tokens]: readonly [KeyHash, number], message: string) => {
    const waitMs = buckets.waitMs(key, tokens)
    if (waitMs > 0) throw new Throttled(message, { waitMs })
  }
  return {
    request(key) {
      require(requests, [key, 1], `Too many requests: ${limits.keyRequests} a minute are allowed for one key`)
      requests.take(key, 1)
    },
    render(key) {
      const message = `Too many requests of this key were refused or repeated: ${limits.keyRefusals} a minute are allowed`
      require(refusals, [key, 1], message)
      let charged = 0
      return {
        charge(length, pieces) {
          const more = Math.max(length, pieces * BODY_PIECE_BYTES_MIN) - charged
          if (more <= 0) return
          require(bytes, [key, more], `Too much data: ${limits.keyBytes} bytes a minute are allowed for one key`)
          bytes.take(key, more)
          charged += more
        },
      }
    },
    chargeRefusal: (key) => refusals.take(key, 1),
    chargeAddress(address) {
      const name = networkOf(address)
      const hasTokens = addresses.waitMs(name, 1) === 0
      if (hasTokens) addresses.take(name, 1)
      return hasTokens
    },
  }
}
