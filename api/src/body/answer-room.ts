/**
 * Limits the bytes of PDFs in sync answers that are being sent. Each PDF is in memory until its caller has read the last byte, and a
 * caller may read slowly. A tenant with too many unread answers gets no new ones until it has read them.
 */
import { ANSWERS_OF_ONE_TENANT_BYTES_MAX } from '@platen/contract/api-limit.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { UNAVAILABLE_RETRY_AFTER_S } from '@platen/contract/limit.ts'
import type { TenantId } from '@platen/contract/tenant.ts'

export interface AnswerRoom {
  /** Throws `RATE_LIMITED` when the unread answers of the tenant fill its room. */
  readonly require: (tenant: TenantId) => void
  /** Counts an answer of `bytes` bytes. Disposing gives the room back. */
  readonly hold: (tenant: TenantId, bytes: number) => Disposable
}

export function openAnswerRoom(): AnswerRoom {
  const held = new Map<TenantId, number>()
  const add = (tenant: TenantId, bytes: number) => {
    const left = (held.get(tenant) ?? 0) + bytes
    if (left > 0) held.set(tenant, left)
    else held.delete(tenant)
  }
  return {
    require(tenant) {
      if ((held.get(tenant) ?? 0) < ANSWERS_OF_ONE_TENANT_BYTES_MAX) return
      const message = `The answers that are under way to this tenant may be ${ANSWERS_OF_ONE_TENANT_BYTES_MAX} bytes long together; ask again when some are read, or in mode async.`
      throw new ServiceError('RATE_LIMITED', message, { headers: { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` } })
    },
    hold(tenant, bytes) {
      let own = bytes
      add(tenant, own)
      return {
        [Symbol.dispose]() {
          add(tenant, -own)
          own = 0
        },
      }
    },
  }
}
