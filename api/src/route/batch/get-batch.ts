/**
 * GET /batches/:id: the progress of a batch. Its end is a separate object, and final. Before that, the list of renders says how many of its
 * renders are in which state.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import { expiryOf, labelsOf } from '@platen/contract/domain/render.ts'
import { verifyBatchId } from '@platen/contract/domain/render-id.ts'
import type { BatchRecord } from '@platen/contract/schema/batch-request.ts'
import { type Batch, type BatchEnd, batchAddresses, decodeBatchEnd } from '@platen/contract/stored/batch.ts'
import type { FastifyInstance } from 'fastify'
import { callerOf, scopeOf } from '../../admission/authenticate.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { timeOf } from '../get-render.ts'
import { throwIncomplete } from '../list/list-route.ts'
import { readBatch } from './accept-batch.ts'
import { getBatchSchema } from './get-batch.schema.ts'

export function getBatchRoute(app: FastifyInstance, ports: ApiPorts): void {
  app.get<{ Params: { id: string } }>('/batches/:id', { schema: getBatchSchema() }, async (request, reply) => {
    const scope = scopeOf(callerOf(request))
    const id = verifyBatchId(request.params.id, scope, ports.keys())
    if (id === undefined) throw new ServiceError('BATCH_NOT_FOUND', 'No batch of this id was issued to this key.')
    const place = { id, account: scope.account }
    const [batch, end] = await Promise.all([readBatch(place, ports), readEnd(place, ports)])
    if (batch === undefined || (end !== undefined && isExpired(batch, end, ports))) throw notKept()
    return await reply.send(await recordOf(batch, end, ports))
  })
}

async function readEnd(place: Pick<Batch, 'id' | 'account'>, ports: ApiPorts): Promise<BatchEnd | undefined> {
  const { artifacts, clock, settings } = ports
  const { ended } = batchAddresses(place, settings.serviceBucket)
  const bytes = await artifacts.get(ended, clock.timeout(PORT_CALL_MS_MAX))
  return bytes && decodeBatchEnd(bytes)
}

function isExpired(batch: Batch, { endedAt }: BatchEnd, { clock }: ApiPorts): boolean {
  return expiryOf(batch, endedAt) <= clock.now()
}

function notKept(): ServiceError {
  return new ServiceError('BATCH_EXPIRED', 'This batch is no longer kept.')
}

async function recordOf(batch: Batch, end: BatchEnd | undefined, ports: ApiPorts): Promise<BatchRecord> {
  const { id, template, acceptedAt, renders } = batch
  const total = renders.length
  const known = { batch_id: id, template: template.code, ...labelsOf(batch) }
  if (end !== undefined) {
    const { succeeded, failed, endedAt } = end
    const counts = { total, queued: 0, running: 0, succeeded, failed }
    const times = { created_at: timeOf(acceptedAt), ended_at: timeOf(endedAt) }
    const delivery = batch.webhookUrl === undefined ? {} : { delivery_id: batch.eventId }
    return { ...known, status: 'ended', ...counts, ...times, ...delivery }
  }
  const { running, succeeded, failed } = await countsOf(batch, ports)
  // A render that is not listed yet waits.
  const queued = Math.max(0, total - running - succeeded - failed)
  const counts = { total, queued, running, succeeded, failed }
  return { ...known, status: 'processing', ...counts, created_at: timeOf(acceptedAt) }
}

async function countsOf(batch: Batch, { list, clock }: ApiPorts) {
  return await list.count(batch, batch.id, clock.timeout(PORT_CALL_MS_MAX)).catch(throwIncomplete)
}
