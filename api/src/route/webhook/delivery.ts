/** Finds a webhook delivery of a caller, and converts it to its wire form. */
import type { Attempt, DeliveryRecord } from '@platen/contract/domain/delivery.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { BATCH_ENDED, type EventType, TEST_EVENT } from '@platen/contract/domain/event.ts'
import type { DeliveryDetail, DeliveryList } from '@platen/contract/schema/response.ts'
import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../admission/authenticate.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { timeOf } from '../get-render.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Throws `DELIVERY_NOT_FOUND`. The log knows whose a delivery is: an id of another tenant or environment gets the same answer as an unknown
 * one.
 */
export async function findDelivery(
  request: FastifyRequest<{ Params: { id: string } }>,
  { deliveries, clock }: Pick<ApiPorts, 'deliveries' | 'clock'>,
): Promise<DeliveryRecord> {
  const { tenant, key } = callerOf(request)
  const { id } = request.params
  const record = UUID.test(id) ? await deliveries.find(id, clock.timeout(PORT_CALL_MS_MAX)) : undefined
  const isTheirs = record?.delivery.account === tenant.account && record.delivery.environment === key.environment
  if (!isTheirs) throw new ServiceError('DELIVERY_NOT_FOUND', 'No delivery of this id is kept for this key.')
  if (isOfRender(record)) request.render = record.delivery.render
  return record
}

export function isTest({ delivery }: Pick<DeliveryRecord, 'delivery'>): boolean {
  return delivery.type === TEST_EVENT
}

function isOfRender(record: Pick<DeliveryRecord, 'delivery'>): boolean {
  return !isTest(record) && record.delivery.type !== BATCH_ENDED
}

export function detailOf(record: DeliveryRecord): DeliveryDetail {
  const { type, render } = record.delivery
  return {
    ...fieldsOf(record),
    event: type,
    ...(isOfRender(record) && { render_id: render }),
    ...(type === BATCH_ENDED && { batch_id: render }),
  }
}

export function deliveryOf(record: DeliveryRecord): DeliveryList['deliveries'][number] {
  // Callers do not know the id under which a test event is kept. The end of a batch is kept under the id of the batch.
  return { ...fieldsOf(record), event: record.delivery.type as EventType }
}

function fieldsOf({ delivery, status, dueAt, reason, attempts }: DeliveryRecord) {
  return {
    id: delivery.id,
    url: delivery.url,
    status,
    created_at: timeOf(delivery.createdAt),
    ...(dueAt !== undefined && { next_attempt_at: timeOf(dueAt) }),
    ...(reason !== undefined && { reason }),
    attempts: attempts.map(attemptOf),
  }
}

export function attemptOf(attempt: Attempt): DeliveryDetail['attempts'][number] {
  const { startedAt, durationMs, result, statusCode, message, excerpt } = attempt
  return {
    started_at: timeOf(startedAt),
    duration_ms: durationMs,
    result,
    ...(statusCode !== undefined && { status_code: statusCode }),
    ...(message !== undefined && { message }),
    ...(excerpt !== undefined && { response_excerpt: excerpt }),
  }
}
