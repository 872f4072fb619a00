/**
 * Limits the bytes of PDFs in sync answers that are being sent. Each PDF is in memory until its caller has read the last byte, and a
 * caller may read slowly. A tenant with too many unread answers gets no new ones until it has read them.
 */
import { ServiceError } from '@platen/contract/error.ts'
import type { TenantId } from '@platen/contract/tenant.ts'
import { UNAVAILABLE_RETRY_AFTER_S } from '../limit.ts'
import { openByteTotals } from './byte-totals.ts'
import { ANSWERS_OF_ONE_TENANT_BYTES_MAX } from './limit.ts'

export interface AnswerBudget {
  /** Throws `RATE_LIMITED` when the unread answers of the tenant fill its budget. */
  readonly require: (tenant: TenantId) => void
  /** Counts an answer of `bytes` bytes. Disposing gives them back. */
  readonly hold: (tenant: TenantId, bytes: number) => Disposable
}

export function openAnswerBudget(): AnswerBudget {
  const held = openByteTotals<TenantId>()
  return {
    require(tenant) {
      if ((held.get(tenant) ?? 0) < ANSWERS_OF_ONE_TENANT_BYTES_MAX) return
      const message = `The unread answers to this tenant may have at most ${ANSWERS_OF_ONE_TENANT_BYTES_MAX} bytes together; read some of them first, or use mode async.`
      throw new ServiceError('RATE_LIMITED', message, { headers: { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` } })
    },
    hold(tenant, bytes) {
      let own = bytes
      held.add(tenant, own)
      return {
        [Symbol.dispose]() {
          held.add(tenant, -own)
          own = 0
        },
      }
    },
  }
}
