/**
 * GET /batches/:id: how far a batch has come. Its end is an object of its own, and final. Before that, the list of renders says how many of its
 * renders are in which state.
 */
import { type Batch, type BatchEnd, batchAddresses, decodeBatchEnd } from '@platen/contract/batch.ts'
import { type BatchRecord, batchRecordSchema } from '@platen/contract/batch-schema.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { expiryOf, labelsOf } from '@platen/contract/render.ts'
import { verifyBatchId } from '@platen/contract/render-id.ts'
import type { FastifyInstance } from 'fastify'
import { callerOf, scopeOf } from '../../admission/authenticate.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { timeOf } from '../get-render.ts'
import { throwIncomplete } from '../list/list-query.ts'
import { readBatch } from './accept-batch.ts'

export function getBatchRoute(app: FastifyInstance, ports: ApiPorts): void {
  app.get<{ Params: { id: string } }>('/batches/:id', { schema: description() }, async (request, reply) => {
    const scope = scopeOf(callerOf(request))
    const id = verifyBatchId(request.params.id, scope, ports.keys())
    if (id === undefined) throw new ServiceError('BATCH_NOT_FOUND', 'No batch of this id was issued to this key.')
    const place = { id, account: scope.incarnation }
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

async function countsOf({ id, account, environment }: Batch, { list, clock }: ApiPorts) {
  const scope = { incarnation: account, environment }
  return await list.count(scope, id, clock.timeout(PORT_CALL_MS_MAX)).catch(throwIncomplete)
}

function description(): object {
  return {
    operationId: 'getBatch',
    tags: ['batch'],
    summary: 'Get the status of a batch',
    description:
      'How many of its renders are in which state. `GET /api/v1/renders?batch=…` lists them. A batch is found as long as its renders are kept.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { id: { type: 'string', description: 'The `batch_id`.' } } },
    response: {
      200: {
        description: 'The status. It is `ended` once each render has succeeded or failed, and final then.',
        headers: COMMON_HEADERS,
        ...batchRecordSchema,
        examples: [EXAMPLE],
      },
      ...refusals('getBatch'),
    },
  }
}

const EXAMPLE: BatchRecord = {
  batch_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
  template: 'invoice',
  reference: 'invoices-2026-11',
  status: 'ended',
  total: 2,
  queued: 0,
  running: 0,
  succeeded: 2,
  failed: 0,
  created_at: '2026-11-21T12:00:00.000Z',
  ended_at: '2026-11-21T12:00:03.187Z',
}
