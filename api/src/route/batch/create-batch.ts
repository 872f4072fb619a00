/**
 * POST /batches: admission of all items, or of none. The steps are those of a render. The head of the request is checked first, then the
 * form of its items, then their data, each with all faults. Only then anything is reserved.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import { mintBatchId, RENDER_ID_RANDOM_BYTES } from '@platen/contract/domain/render-id.ts'
import type { Template } from '@platen/contract/domain/tenant.ts'
import type { BatchAccepted } from '@platen/contract/schema/batch-request.ts'
import { keptUnder } from '@platen/contract/stored/batch.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { choose, commonOf } from '../../admission/admit.ts'
import { type Caller, callerOf, scopeOf } from '../../admission/authenticate.ts'
import { duplicateCheck, type KeyedAttempt } from '../../admission/deduplicate.ts'
import { admissionObserver } from '../../admission/observer.ts'
import { requireAdmitted, reserve } from '../../admission/reserve.ts'
import { isNdjson } from '../../body/body.ts'
import type { ParsedBatch } from '../../body/check/parse-batch.ts'
import { BATCH_BYTES_MAX } from '../../body/limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { isRefusal } from '../../problem.ts'
import { callerGoneSignal } from '../../traffic/answer-end.ts'
import { Throttled } from '../../traffic/throttle.ts'
import { type HeaderNames, headerNames } from '../create-render.schema.ts'
import { type BodyLimits, decisionHeaders, receiveBody } from '../create-render.ts'
import { POLL_RETRY_AFTER_S } from '../limit.ts'
import { type AskedBatch, accept, batchOf, keyedBatch, release } from './accept-batch.ts'
import { createBatchSchema } from './create-batch.schema.ts'

const FORM = { bytesMax: BATCH_BYTES_MAX, isNdjsonAllowed: true }

interface BatchExchange {
  readonly ports: ApiPorts
  readonly headers: HeaderNames
  readonly caller: Caller
  readonly reply: FastifyReply
}

type BatchPost = FastifyRequest<{ Body: ParsedBatch; Headers: { 'idempotency-key'?: string } }>

export function createBatchRoute(app: FastifyInstance, ports: ApiPorts, limits: BodyLimits): void {
  const checkDuplicate = duplicateCheck(ports)
  const headers = headerNames(ports.settings.brand)

  app.post<{ Body: ParsedBatch; Headers: { 'idempotency-key'?: string } }>(
    '/batches',
    {
      schema: createBatchSchema(headers),
      links: { 202: { status: { operationId: 'getBatch', parameters: { id: '$response.body#/batch_id' } } } },
      preParsing: async (request, reply) => {
        const bytes = await receiveBody(request, reply, { ...limits, form: FORM })
        const hasFingerprint = request.headers['idempotency-key'] !== undefined
        const task = { bytes, hasFingerprint, isNdjson: isNdjson(request.raw) }
        request.body = await ports.checks.parseBatch(callerOf(request).tenant.id, task, callerGoneSignal(reply))
      },
      onError: async (request, _reply, error) => {
        if (isRefusal(error) && !(error instanceof Throttled)) limits.throttle.chargeRefusal(callerOf(request).key.hash)
      },
    },
    async (request, reply) => {
      const caller = callerOf(request)
      using admitting = admissionObserver(ports).admitting(request.trace)
      const asked = await admitBatch(request, callerGoneSignal(reply), ports)
      const { template, engine, mode } = asked.record
      request.requested = { template, engine, mode }
      const exchange = { ports, headers, caller, reply }
      const { fingerprint } = request.body
      const key = request.headers['idempotency-key']
      if (key === undefined || fingerprint === undefined) return await reserveAndAccept(asked, exchange)
      using keyed = checkDuplicate({ key, caller, fingerprint, admission: asked, batch: keyedBatch(asked, ports) })
      const earlier = await keyed.find()
      if (earlier === undefined) return await reserveAndAccept(asked, exchange, keyed)
      limits.throttle.chargeRefusal(caller.key.hash)
      admitting.replayed()
      if (earlier.kind === 'interrupted') {
        await accept(batchOf({ ...asked, record: earlier.record }, ports), asked.items, ports)
      }
      reply.header('idempotent-replayed', 'true')
      return sendAccepted({ ...asked, record: { ...asked.record, id: earlier.record.id } }, reply)
    },
  )
}

async function admitBatch(request: BatchPost, signal: AbortSignal, ports: ApiPorts): Promise<AskedBatch> {
  const { body, id: requestId, trace } = request
  const caller = callerOf(request)
  const choice = choose({ caller, body }, ports)
  await requireAllFit(choice.template, body.lines, { ports, signal })
  const now = ports.clock.now()
  const random = ports.ids.random(RENDER_ID_RANDOM_BYTES)
  const record: RenderRecord = {
    id: keptUnder(mintBatchId(scopeOf(caller), ports.keys(), { now, random })),
    mode: 'async',
    lane: 'bulk',
    data: { inline: {} },
    ...commonOf({ caller, body, requestId, trace }, choice, now),
  }
  return { record, total: body.total, items: body.lines }
}

async function requireAllFit(
  template: Template,
  lines: Uint8Array,
  { ports, signal }: { readonly ports: ApiPorts; readonly signal: AbortSignal },
): Promise<void> {
  const details = await ports.checks.faultsOfBatch(template, lines, signal)
  if (details.length === 0) return
  const message = "The data of some items does not fit the template's variables_schema. Nothing was accepted."
  throw new ServiceError('VALIDATION_FAILED', message, { details })
}

async function reserveAndAccept(
  asked: AskedBatch,
  exchange: BatchExchange,
  keyed?: KeyedAttempt,
): Promise<FastifyReply> {
  const { ports, caller, reply } = exchange
  const batch = batchOf(asked, ports)
  const [first = asked.record.id, ...others] = batch.renders
  const decision = await reserve({ ...asked.record, id: first, others }, caller, ports)
  reply.headers(decisionHeaders(decision, exchange))
  requireAdmitted(decision)
  await keyed?.claim(asked.record)
  try {
    await accept(batch, asked.items, ports)
  } catch (error) {
    await release({ record: asked.record, ids: batch.renders }, ports)
    throw error
  }
  return sendAccepted(asked, reply)
}

function sendAccepted({ record, total }: AskedBatch, reply: FastifyReply): FastifyReply {
  const path = `/api/v1/batches/${record.id}`
  const body: BatchAccepted = { batch_id: record.id, status: 'processing', total, poll_url: path }
  return reply.code(202).header('location', path).header('retry-after', POLL_RETRY_AFTER_S).send(body)
}
