/**
 * Limits the bytes of request bodies that are not answered yet, per API key and per process. A request reserves its announced length before
 * a byte is read. So requests that never end cost no more than they announced.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import { UNAVAILABLE_RETRY_AFTER_S } from '../limit.ts'
import type { BodyPayer } from '../traffic/throttle.ts'
import { openByteTotals } from './byte-totals.ts'
import { BODIES_BYTES_MAX, BODIES_OF_ONE_KEY_BYTES_MAX } from './limit.ts'

export interface BodyBudget {
  /** `key` is that of the request. Disposing gives the room back. */
  readonly open: (key: string) => BodyReservation
}

interface BodyReservation extends Disposable, BodyPayer {
  /**
   * Raises the reservation to `bytes` in total. Throws `RATE_LIMITED` if the key has too much, and `RENDER_UNAVAILABLE` if the process has.
   */
  readonly charge: (bytes: number) => void
}

export function openBodyBudget(meter: Pick<ApiMeter, 'held'>): BodyBudget {
  const taken = openByteTotals((bytes) => meter.held('bodies', bytes))
  let all = 0
  const add = (key: string, bytes: number) => {
    taken.add(key, bytes)
    all += bytes
  }
  return {
    open(key) {
      let own = 0
      return {
        charge(bytes) {
          const more = bytes - own
          if (more <= 0) return
          if (taken.get(key) + more > BODIES_OF_ONE_KEY_BYTES_MAX) throw tooMuch()
          if (all + more > BODIES_BYTES_MAX) throw full()
          own = bytes
          add(key, more)
        },
        [Symbol.dispose]() {
          add(key, -own)
          own = 0
        },
      }
    },
  }
}

const RETRY_AFTER = { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` }

function tooMuch(): ServiceError {
  const message = `The unanswered requests of this key may have at most ${BODIES_OF_ONE_KEY_BYTES_MAX} bytes together; send this one again when some are answered.`
  return new ServiceError('RATE_LIMITED', message, { headers: RETRY_AFTER })
}

function full(): ServiceError {
  return new ServiceError('RENDER_UNAVAILABLE', 'The service is receiving too much data at once; try again shortly.', {
    headers: RETRY_AFTER,
  })
}
