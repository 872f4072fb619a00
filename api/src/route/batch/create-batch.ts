/**
 * POST /batches: admission of all items, or of none. The steps are those of a render. What the head of the request gets wrong is refused
 * first, then the form of its items, then their data, each with all faults, and only then anything is reserved.
 */

import { keptUnder } from '@platen/contract/batch.ts'
import {
  type BatchAccepted,
  type BatchRequest,
  batchAcceptedSchema,
  batchRequestSchema,
} from '@platen/contract/batch-schema.ts'
import { ServiceError } from '@platen/contract/error.ts'
import type { RenderRecord } from '@platen/contract/render.ts'
import { mintBatchId, RENDER_ID_RANDOM_BYTES } from '@platen/contract/render-id.ts'
import type { Template } from '@platen/contract/tenant.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { choose, commonOf } from '../../admission/admit.ts'
import { type Caller, callerOf, scopeOf } from '../../admission/authenticate.ts'
import { duplicateCheck, type KeyedAttempt } from '../../admission/deduplicate.ts'
import { requireAdmitted, reserve } from '../../admission/reserve.ts'
import { isNdjson } from '../../body/body.ts'
import type { ParsedBatch } from '../../body/check/parse-batch.ts'
import { BATCH_BYTES_MAX } from '../../body/limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { isRefusal } from '../../problem.ts'
import { callerGoneSignal } from '../../traffic/caller-gone.ts'
import { Throttled } from '../../traffic/throttle.ts'
import {
  type BodyLimits,
  decisionHeaders,
  type HeaderNames,
  headerNames,
  IDEMPOTENCY_KEY_PATTERN,
  INVOICE,
  limitHeaders,
  REPLAYED,
  receiveBody,
} from '../create-render.ts'
import { POLL_RETRY_AFTER_S } from '../limit.ts'
import { type AskedBatch, accept, batchOf, keyedBatch, release } from './accept-batch.ts'

const FORM = { bytesMax: BATCH_BYTES_MAX, isNdjsonAllowed: true }

/** What is needed to answer a request. */
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
      schema: description(headers),
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
      using admitting = ports.tracer.start('admission', { parent: request.trace })
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
      admitting.end()
      if (earlier.kind === 'interrupted') {
        await accept(batchOf({ ...asked, record: earlier.record }, ports), asked.items, ports)
      }
      reply.header('idempotent-replayed', 'true')
      return sendAccepted({ ...asked, record: { ...asked.record, id: earlier.record.id } }, reply)
    },
  )
}

/** The steps that call no store. */
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

/** The rest of admission: limiter, claim, acceptance. */
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

function description(headers: HeaderNames): object {
  const limits = limitHeaders(headers)
  return {
    operationId: 'createBatch',
    tags: ['batch'],
    summary: 'Render many PDFs from one template',
    description:
      'Accepts all items or none. Their renders wait in the bulk lane, so that other renders pass them, and each counts in the quota; the batch is one request to the rates. A refusal lists the faults of all items. The body may be NDJSON (`Content-Type: application/x-ndjson`): then the first line is the request without `items`, and each further line is an item. It may be sent as `Content-Encoding: gzip`.',
    security: KEY_REQUIRED,
    headers: { type: 'object', properties: { 'idempotency-key': IDEMPOTENCY_KEY } },
    body: { ...batchRequestSchema, examples: EXAMPLES },
    response: {
      202: {
        description: 'Accepted: the batch is stored, and each of its renders will end.',
        headers: {
          ...COMMON_HEADERS,
          Location: { type: 'string', description: 'The `poll_url`.' },
          'Retry-After': { type: 'integer', description: 'Seconds to wait before the first poll.' },
          ...limits,
          ...REPLAYED,
        },
        ...batchAcceptedSchema,
        examples: [ACCEPTED],
      },
      ...refusals('createBatch', {
        PAYMENT_REQUIRED: limits,
        IDEMPOTENCY_IN_PROGRESS: limits,
        RATE_LIMITED: limits,
        HTML_RATE_LIMIT_EXCEEDED: limits,
        RENDER_UNAVAILABLE: limits,
      }),
    },
  }
}

const IDEMPOTENCY_KEY = {
  type: 'string',
  pattern: IDEMPOTENCY_KEY_PATTERN,
  description:
    'A key of your choice for this request. For 24 hours, the same items with the same key get the same answer and make only one batch.',
} as const

const EXAMPLES: readonly BatchRequest[] = [
  { template: 'invoice', items: [{ data: INVOICE }] },
  {
    template: 'invoice',
    webhook_url: 'https://example.com/hooks/pdf',
    reference: 'invoices-2026-11',
    items: [
      { data: INVOICE, reference: 'order-42', filename: 'invoice-2026-0042.pdf' },
      { data: { ...INVOICE, number: '2026-0043' }, reference: 'order-43', filename: 'invoice-2026-0043.pdf' },
    ],
  },
]

const ACCEPTED: BatchAccepted = {
  batch_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
  status: 'processing',
  total: 2,
  poll_url: '/api/v1/batches/01KAJHYV7NF3S8G9TWQ2MZXC4R',
}
