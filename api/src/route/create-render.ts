/** POST /render: admission, then the queue, then the PDF (sync) or the id to poll with (async). */
import { FAILURES, ServiceError } from '@platen/contract/error.ts'
import { contentDisposition, fileNameOf } from '@platen/contract/file-name.ts'
import { headerPrefix } from '@platen/contract/header-prefix.ts'
import type { Decision } from '@platen/contract/port/limiter.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import type { Span } from '@platen/contract/port/tracer.ts'
import type { Failure, RenderRecord } from '@platen/contract/render.ts'
import { type RenderRequest, renderRequestSchema } from '@platen/contract/schema/render-request.ts'
import { type Accepted, acceptedSchema } from '@platen/contract/schema/response.ts'
import { renderAttributes } from '@platen/contract/span-attributes.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Admission, admit } from '../admission/admit.ts'
import { type Caller, callerOf } from '../admission/authenticate.ts'
import { duplicateCheck, type EarlierRequest, type KeyedAttempt } from '../admission/deduplicate.ts'
import { renderSync, replyOf } from '../admission/render-sync.ts'
import { modeOf } from '../admission/request.ts'
import { quotaLeft, rateHeaders, requireAdmitted, reserve } from '../admission/reserve.ts'
import { enqueue, markQueued, submit } from '../admission/submit.ts'
import type { AnswerBudget } from '../body/answer-budget.ts'
import { type BodyForm, readBody } from '../body/body.ts'
import type { BodyBudget } from '../body/body-budget.ts'
import type { ParsedRequest } from '../body/check/parse-request.ts'
import { bodyOf, byteLengthOf, digestOf, freeOnceSent } from '../body/pdf-pieces.ts'
import { COMMON_HEADERS, type HeaderSchemas, KEY_REQUIRED, refusals } from '../openapi.ts'
import type { ApiPorts } from '../ports.ts'
import { isRefusal } from '../problem.ts'
import { callerGoneSignal } from '../traffic/caller-gone.ts'
import { type Throttle, Throttled } from '../traffic/throttle.ts'
import { IDEMPOTENCY_KEY_CHARS_MAX, POLL_RETRY_AFTER_S } from './limit.ts'

/** Everything needed to answer a request, whatever its outcome. */
interface Exchange {
  readonly ports: ApiPorts
  readonly headers: HeaderNames
  readonly answers: AnswerBudget
  readonly caller: Caller
  readonly request: Pick<FastifyRequest, 'render' | 'requested'>
  readonly reply: FastifyReply
  /** Ends when the request is admitted, refused or replayed. */
  readonly admitting: Span
  /** Aborts when nobody waits for the answer any more. */
  readonly callerGone: AbortSignal
}

export function createRenderRoute(
  app: FastifyInstance,
  ports: ApiPorts,
  { throttle, answers, budget }: BodyLimits & { readonly answers: AnswerBudget },
): void {
  const checkDuplicate = duplicateCheck(ports)
  const headers = headerNames(ports.settings.brand)

  app.post<{ Body: ParsedRequest; Headers: { 'idempotency-key'?: string } }>(
    '/render',
    {
      schema: description(headers),
      preParsing: async (request, reply) => {
        const bytes = await receiveBody(request, reply, { throttle, budget })
        const hasFingerprint = request.headers['idempotency-key'] !== undefined
        const { tenant } = callerOf(request)
        request.body = await ports.checks.parse(tenant.id, { bytes, hasFingerprint }, callerGoneSignal(reply))
      },
      onError: async (request, _reply, error) => {
        if (isRefusal(error) && !(error instanceof Throttled)) throttle.chargeRefusal(callerOf(request).key.hash)
      },
    },
    async (request, reply) => {
      const { body, id: requestId, trace } = request
      const caller = callerOf(request)
      const callerGone = callerGoneSignal(reply)
      using admitting = ports.tracer.start('admission', { parent: trace })
      const exchange = { ports, headers, answers, caller, request, reply, admitting, callerGone }
      if (modeOf(body) === 'sync') answers.require(caller.tenant.id)
      const admission = await admit({ caller, body, requestId, trace, signal: callerGone }, ports)
      const { lane: _undecided, ...requested } = admission.record
      request.requested = requested
      const key = request.headers['idempotency-key']
      if (key === undefined || body.fingerprint === undefined) return await reserveAndRun(admission, exchange)
      using keyed = checkDuplicate({ key, caller, admission, fingerprint: body.fingerprint })
      const earlier = await keyed.find()
      if (earlier !== undefined) {
        throttle.chargeRefusal(caller.key.hash)
        return await replay(earlier, admission, exchange)
      }
      return await reserveAndRun(admission, exchange, keyed)
    },
  )
}

/** What limits the bodies that an API process has in memory. */
export interface BodyLimits {
  readonly throttle: Throttle
  readonly budget: BodyBudget
}

/** Receives a body that makes renders, and charges it to its key. It counts as in memory until the request is answered. */
export async function receiveBody(
  request: FastifyRequest,
  reply: FastifyReply,
  { throttle, budget, form }: BodyLimits & { readonly form?: BodyForm },
): Promise<Uint8Array> {
  const { key } = callerOf(request)
  const account = throttle.render(key.hash)
  const reservation = budget.open(key.hash)
  for (const end of ['finish', 'close']) reply.raw.once(end, () => reservation[Symbol.dispose]())
  const isAwaited = request.headers.expect?.toLowerCase() === '100-continue'
  const proceed = isAwaited ? () => reply.raw.writeContinue() : undefined
  return await readBody(request.raw, { accounts: [account, reservation], proceed, ...(form && { form }) })
}

/** The rest of admission for a request that is not a duplicate: limiter, claim, queue. */
async function reserveAndRun(admission: Admission, exchange: Exchange, keyed?: KeyedAttempt): Promise<FastifyReply> {
  const { ports, caller, reply } = exchange
  const decision = await reserve(admission.record, caller, ports)
  // Every answer from here on has these headers.
  reply.headers(decisionHeaders(decision, exchange))
  const record = { ...admission.record, lane: requireAdmitted(decision) }
  await keyed?.claim(record)
  return await submitAndAnswer({ ...admission, record }, exchange)
}

/** What an answer says of the limits. The sandbox has no quota. */
export function decisionHeaders(
  decision: Decision,
  { caller, headers }: Pick<Exchange, 'caller' | 'headers'>,
): Readonly<Record<string, string | number>> {
  const left = caller.key.environment === 'live' ? quotaLeft(decision) : undefined
  const quota = left && { [headers.quotaLimit]: left.limit, [headers.quotaRemaining]: left.remaining }
  return { ...rateHeaders(decision.rate), ...quota }
}

/** Queues an admitted render and answers according to its mode. */
async function submitAndAnswer(admission: Admission, exchange: Exchange): Promise<FastifyReply> {
  const { ports, request, admitting, callerGone } = exchange
  const { record } = admission
  admitting.end({ attributes: renderAttributes(record) })
  request.render = record.id
  request.requested = record
  if (record.mode === 'sync') return sendReply(await renderSync(admission, ports, callerGone), record, exchange)
  await submit(admission, ports)
  await markQueued(record, ports)
  return sendAccepted(record, exchange)
}

/** Answers as the first request with this key was answered, or would have been. */
async function replay(earlier: EarlierRequest, admission: Admission, exchange: Exchange): Promise<FastifyReply> {
  const { ports, request, reply, admitting } = exchange
  const { record } = earlier
  admitting.end({ attributes: { 'platen.render': record.id } })
  request.render = record.id
  if (earlier.kind === 'interrupted') {
    await enqueue({ ...admission, record: earlier.record }, ports)
    await markQueued(earlier.record, ports)
  }
  const answer = earlier.kind === 'ended' ? await replyOf(earlier.manifest, ports) : undefined
  reply.header('idempotent-replayed', 'true')
  return answer === undefined ? sendAccepted(record, exchange) : sendReply(answer, record, exchange)
}

function sendAccepted({ id }: Pick<RenderRecord, 'id'>, { reply }: Exchange): FastifyReply {
  const path = `/api/v1/render/${id}`
  const body: Accepted = { render_id: id, status: 'queued', poll_url: path }
  return reply.code(202).header('location', path).header('retry-after', POLL_RETRY_AFTER_S).send(body)
}

export interface HeaderNames {
  readonly renderId: string
  readonly renderMs: string
  readonly pages: string
  readonly warnings: string
  readonly quotaLimit: string
  readonly quotaRemaining: string
}

/** The names of headers with the word of the installation. */
export function headerNames(brand: string): HeaderNames {
  const prefix = headerPrefix(brand)
  return {
    renderId: `${prefix}-Render-Id`,
    renderMs: `${prefix}-Render-Ms`,
    pages: `${prefix}-Pages`,
    warnings: `${prefix}-Warnings`,
    quotaLimit: `${prefix}-Quota-Limit`,
    quotaRemaining: `${prefix}-Quota-Remaining`,
  }
}

function sendReply(
  answer: Reply,
  record: Pick<RenderRecord, 'id' | 'template' | 'options'>,
  { headers, answers, caller, reply }: Exchange,
): FastifyReply {
  switch (answer.kind) {
    case 'failed':
      throw failureOf(answer.error, { [headers.renderId]: record.id })
    case 'rendered': {
      const bytes = byteLengthOf(answer.pdf)
      const held = answers.hold(caller.tenant.id, bytes)
      for (const end of ['finish', 'close']) reply.raw.once(end, () => held[Symbol.dispose]())
      if (answer.isOwned === true) freeOnceSent(answer.pdf, reply.raw)
      return reply
        .headers(documentHeaders(answer, headers))
        .type('application/pdf')
        .header(headers.renderId, record.id)
        .header(headers.renderMs, Math.round(answer.durationMs))
        .header('content-disposition', contentDisposition(fileNameOf(record)))
        .header('etag', `"${answer.sha256 ?? digestOf(answer.pdf)}"`)
        .header('content-length', bytes)
        .send(bodyOf(answer.pdf))
    }
  }
}

/** What the answer says of the document. A renderer of an older version does not say it. */
function documentHeaders(
  { pages, warnings }: Extract<Reply, { kind: 'rendered' }>,
  headers: HeaderNames,
): Readonly<Record<string, number>> {
  return {
    ...(pages !== undefined && { [headers.pages]: pages }),
    ...(warnings !== undefined && { [headers.warnings]: warnings }),
  }
}

/** Returns the refusal for a render that failed. Only the caller can correct the options. */
function failureOf({ code, message }: Failure, headers: Readonly<Record<string, string>>): ServiceError {
  const { fault } = FAILURES[code]
  const answered = code === 'invalid_options' ? 'VALIDATION_FAILED' : 'INTERNAL_ERROR'
  return new ServiceError(answered, `${code}: ${message}`, { headers, fault, reason: code })
}

function description(headers: HeaderNames): object {
  const limits = limitHeaders(headers)
  return {
    operationId: 'createRender',
    tags: ['render'],
    summary: 'Render a PDF',
    description:
      'In mode `sync` the answer is the PDF; in mode `async` it is an id to poll with. The body may be sent as `Content-Encoding: gzip`.',
    security: KEY_REQUIRED,
    headers: { type: 'object', properties: { 'idempotency-key': IDEMPOTENCY_KEY } },
    body: { ...renderRequestSchema, examples: EXAMPLES },
    response: {
      200: {
        description: 'The PDF, in mode `sync`.',
        headers: {
          ...COMMON_HEADERS,
          [headers.renderId]: RENDER_ID,
          [headers.renderMs]: { type: 'integer', description: 'Rendering time in milliseconds.' },
          [headers.pages]: { type: 'integer', description: 'Pages of the PDF.' },
          [headers.warnings]: {
            type: 'integer',
            description: 'Number of warnings; 0 if there are none. The status record of the render has them.',
          },
          'Content-Disposition': { type: 'string', description: 'Has `options.filename`, or a generated file name.' },
          ETag: { type: 'string', description: 'SHA-256 of the PDF; `artifact_id` of the webhook.' },
          ...limits,
          ...REPLAYED,
        },
        content: { 'application/pdf': { schema: { type: 'string', format: 'binary' } } },
      },
      202: {
        description: 'Accepted, in mode `async`: the render is stored and will be processed.',
        headers: {
          ...COMMON_HEADERS,
          Location: { type: 'string', description: 'The `poll_url`.' },
          'Retry-After': { type: 'integer', description: 'Seconds to wait before the first poll.' },
          ...limits,
          ...REPLAYED,
        },
        ...acceptedSchema,
        examples: [ACCEPTED],
      },
      ...refusals('createRender', {
        PAYMENT_REQUIRED: limits,
        IDEMPOTENCY_IN_PROGRESS: limits,
        RATE_LIMITED: limits,
        HTML_RATE_LIMIT_EXCEEDED: limits,
        INTERNAL_ERROR: { [headers.renderId]: RENDER_ID, ...limits, ...REPLAYED },
        RENDER_UNAVAILABLE: limits,
      }),
    },
  }
}

const RENDER_ID = { type: 'string', description: 'Id of the render, if it already has one.' } as const

/** The form of an `Idempotency-Key`: printable ASCII. */
export const IDEMPOTENCY_KEY_PATTERN = `^[\\x20-\\x7e]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$`

const IDEMPOTENCY_KEY = {
  type: 'string',
  pattern: IDEMPOTENCY_KEY_PATTERN,
  description:
    'A key of your choice for this request. For 24 hours, the same body with the same key gets the same answer and makes only one render. A DELETE of that render frees the key.',
} as const

/** The headers of every answer that checked the limits. */
export function limitHeaders({ quotaLimit, quotaRemaining }: HeaderNames): HeaderSchemas {
  return {
    ...RATE,
    [quotaLimit]: {
      type: 'integer',
      description:
        'Units that the plan allows in this calendar month (UTC). Absent if it sets no limit, and in the sandbox.',
    },
    [quotaRemaining]: {
      type: 'integer',
      description: 'Units left of it: without those that are used, and those reserved for renders that have not ended.',
    },
  }
}

const RATE: HeaderSchemas = {
  'X-RateLimit-Limit': {
    type: 'integer',
    description:
      'Renders a minute under the rate limit with the fewest left. Sent with every answer that checked the limits.',
  },
  'X-RateLimit-Remaining': { type: 'integer', description: 'Renders left under this limit.' },
  'X-RateLimit-Reset': { type: 'integer', description: 'Unix time in seconds when the whole limit is free again.' },
}

/** Sent if an earlier request with the same key was answered. */
export const REPLAYED: HeaderSchemas = {
  'Idempotent-Replayed': {
    type: 'string',
    description: '`true` if this is the answer to an earlier request with the same `Idempotency-Key`.',
  },
}

/** What the template `invoice` of the example manifests takes. */
export const INVOICE = {
  number: '2026-0042',
  issuedOn: '2026-11-25',
  dueOn: '2026-12-09',
  locale: 'en-GB',
  currency: 'EUR',
  seller: {
    name: 'Acme Print & Paper',
    address: ['1 Mill Lane', 'Dublin'],
    vatId: 'IE1234567T',
    email: 'office@acme.example',
    bank: 'Bank of Dublin',
    iban: 'IE29 AIBK 9311 5212 3456 78',
  },
  buyer: { name: 'Globex Logistics', address: ['2 Harbour Road', 'Cork'] },
  rows: [{ title: 'Letterheads', quantity: 1000, unitPrice: 0.12, taxRate: 23, amount: 120 }],
  net: 120,
  taxes: [{ rate: 23, base: 120, amount: 27.6 }],
  total: 147.6,
}

const EXAMPLES: readonly RenderRequest[] = [
  { template: 'invoice', data: INVOICE, options: { filename: 'invoice-2026-0042.pdf' } },
  { template: 'invoice', data: INVOICE, mode: 'async', webhook_url: 'https://example.com/hooks/pdf' },
]

const ACCEPTED: Accepted = {
  render_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
  status: 'queued',
  poll_url: '/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R',
}
