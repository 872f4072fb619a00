import type { DeliveryRecord } from '../domain/delivery.ts'
import { BATCH_ENDED, TEST_EVENT } from '../domain/event.ts'
import type { ListedDelivery } from './delivery-list.ts'

/** Undefined for test events and for the end of a batch, which are in no list. */
export function listedDelivery({ delivery, status, attempts }: DeliveryRecord): ListedDelivery | undefined {
  const { id, type, render, createdAt, listed } = delivery
  if (listed === undefined || type === TEST_EVENT || type === BATCH_ENDED) return undefined
  const last = attempts.at(-1)
  return { id, event: type, render, ...listed, status, createdAt, ...(last && { lastAttempt: withoutTexts(last) }) }
}

function withoutTexts({
  startedAt,
  durationMs,
  result,
  statusCode,
}: DeliveryRecord['attempts'][number]): NonNullable<ListedDelivery['lastAttempt']> {
  return { startedAt, durationMs, result, ...(statusCode !== undefined && { statusCode }) }
}
