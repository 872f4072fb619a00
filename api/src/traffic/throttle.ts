/**
 * What a request may cost before a limit of its tenant's plan has looked at it, charged to its API key, or to its address where it shows
 * no good key. Renders are admitted by the plan; what is refused, replayed, read or merely sent is counted here, in each API process for
 * itself, and taken from a bucket before it is done.
 */
import { networkOf } from '@platen/contract/address.ts'
import {
  ADDRESSES_COUNTED_MAX,
  BODY_PIECE_BYTES_MIN,
  KEYS_COUNTED_MAX,
  type TrafficLimits,
} from '@platen/contract/api-limit.ts'
import { ServiceError } from '@platen/contract/error.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { KeyHash } from '@platen/contract/tenant.ts'
import { openTokenBuckets, type TokenBuckets } from './token-buckets.ts'

/** A refusal of the throttle itself, which is charged to nobody: whoever asks on would never come out of it. */
export class Throttled extends ServiceError {
  constructor(message: string, { waitMs, closes = false }: { waitMs: number; closes?: boolean }) {
    const seconds = Math.max(1, Math.ceil(waitMs / 1000))
    const headers = { 'retry-after': `${seconds}`, ...(closes && { connection: 'close' }) }
    super('RATE_LIMITED', `${message}; try again in ${seconds} s.`, { headers })
  }
}

/** When an address that had too many requests may ask again. */
const ADDRESS_WAIT_MS = 10_000

/** What is answered to an address that has had too many requests without a good key. */
export function tooManyOfAddress(): Throttled {
  return new Throttled('Too many requests of this address show no good key', { waitMs: ADDRESS_WAIT_MS, closes: true })
}

export interface Throttle {
  /** Lets a request in that is for no render. Throws `RATE_LIMITED`. */
  readonly request: (key: KeyHash) => void
  /** Lets a request for a render in, and charges its body as it is told of it. Throws `RATE_LIMITED`, and so does what it gives. */
  readonly render: (key: KeyHash) => BodyAccount
  /** Charges a request for a render that was refused, or answered as an earlier one: no limit of the plan counts it. */
  readonly chargeRefusal: (key: KeyHash) => void
  /** Charges a request without a good key to its address: one that is refused, or asks for what is not small. False where that has had too many. */
  readonly chargeAddress: (address: string) => boolean
}

/** What is told how much of a body there is. */
export interface BodyAccount {
  /** There are so many bytes in all, or will be, in so many pieces. Throws the refusal where that is too much. */
  readonly charge: (bytes: number, pieces: number) => void
}

export function openThrottle(limits: TrafficLimits, clock: Pick<Clock, 'monotonic'>): Throttle {
  const ofKeys = (perMinute: number) => openTokenBuckets({ perMinute, namesMax: KEYS_COUNTED_MAX, clock })
  const requests = ofKeys(limits.keyRequests)
  const refusals = ofKeys(limits.keyRefusals)
  const bytes = ofKeys(limits.keyBytes)
  const addresses = openTokenBuckets({ perMinute: limits.addressRefusals, namesMax: ADDRESSES_COUNTED_MAX, clock })
  const require = (buckets: TokenBuckets, [key, tokens]: readonly [KeyHash, number], message: string) => {
    const waitMs = buckets.waitMs(key, tokens)
    if (waitMs > 0) throw new Throttled(message, { waitMs })
  }
  return {
    request(key) {
      require(requests, [key, 1], `Too many requests: ${limits.keyRequests} a minute of one key are allowed`)
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
          require(bytes, [key, more], `Too much is sent: ${limits.keyBytes} bytes a minute of one key are allowed`)
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
