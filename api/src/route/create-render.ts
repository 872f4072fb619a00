/** POST /render: admission, then the queue, then the PDF (sync) or the id to poll with (async). */
import { FAILURES, ServiceError } from '@platen/contract/domain/error.ts'
import { contentDisposition, fileNameOf } from '@platen/contract/domain/file-name.ts'
import type { Failure, RenderRecord } from '@platen/contract/domain/render.ts'
import type { Decision } from '@platen/contract/port/limiter.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import type { Accepted } from '@platen/contract/schema/response.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Admission, admit } from '../admission/admit.ts'
import { type Caller, callerOf, scopeOf } from '../admission/authenticate.ts'
import { duplicateCheck, type EarlierRequest, type KeyedAttempt } from '../admission/deduplicate.ts'
import { type Admitting, admissionObserver } from '../admission/observer.ts'
import { renderSync, replyOf } from '../admission/render-sync.ts'
import { modeOf } from '../admission/request.ts'
import { quotaLeft, rateHeaders, requireAdmitted, reserve } from '../admission/reserve.ts'
import { enqueue, markQueued, submit } from '../admission/submit.ts'
import type { AnswerBudget } from '../body/answer-budget.ts'
import { type BodyForm, readBody } from '../body/body.ts'
import type { BodyBudget } from '../body/body-budget.ts'
import type { ParsedRequest } from '../body/check/parse-request.ts'
import { bodyOf, byteLengthOf, freeOnceSent } from '../body/pdf-pieces.ts'
import type { ApiPorts } from '../ports.ts'
import { isRefusal } from '../problem.ts'
import { callerGoneSignal, holdUntilSent } from '../traffic/answer-end.ts'
import { type Throttle, Throttled } from '../traffic/throttle.ts'
import { createRenderSchema, type HeaderNames, headerNames, linksTo } from './create-render.schema.ts'
import { POLL_RETRY_AFTER_S } from './limit.ts'

interface Exchange {
  readonly ports: ApiPorts
  readonly headers: HeaderNames
  readonly answers: AnswerBudget
  readonly caller: Caller
  readonly request: Pick<FastifyRequest, 'render' | 'requested'>
  readonly reply: FastifyReply
  /** Ends when the request is admitted, refused or replayed. */
  readonly admitting: Admitting
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
      schema: createRenderSchema(headers),
      links: { 200: linksTo(`$response.header.${headers.renderId}`), 202: linksTo('$response.body#/render_id') },
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
      using admitting = admissionObserver(ports).admitting(trace)
      const exchange = { ports, headers, answers, caller, request, reply, admitting, callerGone }
      if (modeOf(body) === 'sync') answers.require(scopeOf(caller))
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

export interface BodyLimits {
  readonly throttle: Throttle
  readonly budget: BodyBudget
}

/** Receives the body of a request for renders, and charges it to its key. It counts as in memory until the request is answered. */
export async function receiveBody(
  request: FastifyRequest,
  reply: FastifyReply,
  { throttle, budget, form }: BodyLimits & { readonly form?: BodyForm },
): Promise<Uint8Array> {
  const { key } = callerOf(request)
  const payer = throttle.render(key.hash)
  const reservation = budget.open(key.hash)
  holdUntilSent(reply, reservation)
  const isAwaited = request.headers.expect?.toLowerCase() === '100-continue'
  const proceed = isAwaited ? () => reply.raw.writeContinue() : undefined
  return await readBody(request.raw, { payers: [payer, reservation], proceed, ...(form && { form }) })
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

/** The sandbox has no quota. */
export function decisionHeaders(
  decision: Decision,
  { caller, headers }: Pick<Exchange, 'caller' | 'headers'>,
): Readonly<Record<string, string | number>> {
  const left = caller.key.environment === 'live' ? quotaLeft(decision) : undefined
  const quota = left && { [headers.quotaLimit]: left.limit, [headers.quotaRemaining]: left.remaining }
  return { ...rateHeaders(decision.rate), ...quota }
}

async function submitAndAnswer(admission: Admission, exchange: Exchange): Promise<FastifyReply> {
  const { ports, request, admitting, callerGone } = exchange
  const { record } = admission
  admitting.admitted(record)
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
  admitting.replayed(record.id)
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
      holdUntilSent(reply, answers.hold(scopeOf(caller), bytes))
      if (answer.isOwned === true) freeOnceSent(answer.pdf, reply.raw)
      return reply
        .headers(documentHeaders(answer, headers))
        .type('application/pdf')
        .header(headers.renderId, record.id)
        .header(headers.renderMs, Math.round(answer.durationMs))
        .header('content-disposition', contentDisposition(fileNameOf(record)))
        .header('etag', `"${answer.sha256}"`)
        .header('content-length', bytes)
        .send(bodyOf(answer.pdf))
    }
  }
}

function documentHeaders(
  { pages, warnings }: Extract<Reply, { kind: 'rendered' }>,
  headers: HeaderNames,
): Readonly<Record<string, number>> {
  return { [headers.pages]: pages, [headers.warnings]: warnings }
}

/** Only a fault in the options can be corrected by the caller. */
function failureOf({ code, message }: Failure, headers: Readonly<Record<string, string>>): ServiceError {
  const { fault } = FAILURES[code]
  const answered = code === 'invalid_options' ? 'VALIDATION_FAILED' : 'INTERNAL_ERROR'
  return new ServiceError(answered, `${code}: ${message}`, { headers, fault, reason: code })
}
