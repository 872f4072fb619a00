/**
 * Limits the bytes of PDFs in sync answers that are being sent. Each PDF is in memory until its caller has read the last byte, and a caller
 * may read slowly. A tenant with too many unread answers gets no new ones until it has read some. Its sandbox has a separate budget.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { IdScope } from '@platen/contract/domain/render-id.ts'
import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import { UNAVAILABLE_RETRY_AFTER_S } from '../limit.ts'
import { openByteTotals } from './byte-totals.ts'
import { ANSWERS_OF_ONE_TENANT_BYTES_MAX } from './limit.ts'

export interface AnswerBudget {
  /** Throws `RATE_LIMITED` when the unread answers fill the budget. */
  readonly require: (scope: IdScope) => void
  readonly hold: (scope: IdScope, bytes: number) => Disposable
}

export function openAnswerBudget(meter: Pick<ApiMeter, 'held'>): AnswerBudget {
  const held = openByteTotals((bytes) => meter.held('answers', bytes))
  return {
    require(scope) {
      if (held.get(nameOf(scope)) < ANSWERS_OF_ONE_TENANT_BYTES_MAX) return
      const message = `The unread answers to this tenant may have at most ${ANSWERS_OF_ONE_TENANT_BYTES_MAX} bytes together; read some of them first, or use mode async.`
      throw new ServiceError('RATE_LIMITED', message, { headers: { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` } })
    },
    hold(scope, bytes) {
      let own = bytes
      held.add(nameOf(scope), own)
      return {
        [Symbol.dispose]() {
          held.add(nameOf(scope), -own)
          own = 0
        },
      }
    },
  }
}

function nameOf({ account, environment }: IdScope): string {
  return `${environment} ${account}`
}
