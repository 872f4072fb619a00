/** POST /render: admission, then the queue, then either the promise of a PDF or the PDF. */
import { createHash } from 'node:crypto'
import { ServiceError } from '@platen/contract/error.ts'
import { contentDisposition, fileNameOf } from '@platen/contract/file-name.ts'
import { POLL_RETRY_AFTER_S, PORT_CALL_MS_MAX } from '@platen/contract/limit.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import type { RenderRecord } from '@platen/contract/render.ts'
import { type Accepted, acceptedSchema } from '@platen/contract/schema/answer.ts'
import { type RenderRequest, renderRequestSchema } from '@platen/contract/schema/render-request.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Admission, admit } from '../admission/admit.ts'
import { callerOf } from '../admission/authenticate.ts'
import { renderNow } from '../admission/await-reply.ts'
import { dataCheck } from '../admission/data.ts'
import { submit } from '../admission/submit.ts'
import { readBody } from '../body.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../openapi.ts'
import type { ApiPorts } from '../ports.ts'

export function createRenderRoute(app: FastifyInstance, ports: ApiPorts): void {
  const requireFit = dataCheck()
  const headers = headerNames(ports.settings.brand)

  app.post<{ Body: RenderRequest }>(
    '/render',
    {
      schema: description(headers),
      preParsing: async (request) => {
        // The schema judges it next; until then the type is a hope.
        request.body = (await readBody(request.raw)) as RenderRequest
      },
    },
    async (request, reply) => {
      const application = { caller: callerOf(request), body: request.body, requestId: request.id }
      const admission = admit(application, ports, requireFit)
      const { record } = admission
      request.render = record.id
      if (record.mode === 'async') return await accept(admission, ports, reply)
      return sendReply(await renderNow(admission, ports, departureOf(reply)), { record, headers, reply })
    },
  )
}

async function accept(admission: Admission, ports: ApiPorts, reply: FastifyReply): Promise<FastifyReply> {
  const { record } = admission
  await submit(admission, ports)
  await showAsQueued(record, ports)
  const path = `/api/v1/render/${record.id}`
  const body: Accepted = { render_id: record.id, status: 'queued', poll_url: path }
  return reply.code(202).header('location', path).header('retry-after', POLL_RETRY_AFTER_S).send(body)
}

/** The queue has it, so it is accepted; that it can be seen at once is a courtesy. */
async function showAsQueued(record: RenderRecord, { ledger, clock, log }: ApiPorts): Promise<void> {
  try {
    await ledger.open(record, clock.timeout(PORT_CALL_MS_MAX))
  } catch (err) {
    log.warn(
      { tenant: record.tenant, render: record.id, requestId: record.requestId, err },
      'render not shown as queued',
    )
  }
}

interface HeaderNames {
  readonly renderId: string
  readonly renderMs: string
}

function headerNames(brand: string): HeaderNames {
  const prefix = `X-${brand.charAt(0).toUpperCase()}${brand.slice(1)}`
  return { renderId: `${prefix}-Render-Id`, renderMs: `${prefix}-Render-Ms` }
}

function sendReply(
  answer: Reply,
  { record, headers, reply }: { record: RenderRecord; headers: HeaderNames; reply: FastifyReply },
): FastifyReply {
  switch (answer.kind) {
    case 'failed':
      throw new ServiceError('INTERNAL_ERROR', `${answer.error.code}: ${answer.error.message}`, {
        headers: { [headers.renderId]: record.id },
      })
    case 'rendered':
      return reply
        .type('application/pdf')
        .header(headers.renderId, record.id)
        .header(headers.renderMs, Math.round(answer.durationMs))
        .header('content-disposition', contentDisposition(fileNameOf(record)))
        .header('etag', `"${createHash('sha256').update(answer.pdf).digest('hex')}"`)
        .send(answer.pdf)
  }
}

/** Aborts when the connection closes before the answer was written. Not `request.signal`, which aborts when the body has been read. */
function departureOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const onClose = () => {
    if (!reply.raw.writableFinished) controller.abort(new DOMException('the caller has gone', 'AbortError'))
  }
  if (reply.raw.destroyed) onClose()
  else reply.raw.once('close', onClose)
  return controller.signal
}

function description(headers: HeaderNames): object {
  return {
    operationId: 'createRender',
    tags: ['render'],
    summary: 'Render a PDF',
    description: 'In mode `sync` the answer is the PDF; in mode `async` it is an id to poll with.',
    security: KEY_REQUIRED,
    body: { ...renderRequestSchema, examples: EXAMPLES },
    response: {
      200: {
        description: 'The PDF, in mode `sync`.',
        headers: {
          ...COMMON_HEADERS,
          [headers.renderId]: RENDER_ID,
          [headers.renderMs]: { type: 'integer', description: 'Rendering time in milliseconds.' },
          'Content-Disposition': { type: 'string', description: 'Offers `options.filename`, or a name made for it.' },
          ETag: { type: 'string', description: 'SHA-256 of the PDF; `artifact_id` of the webhook.' },
        },
        content: { 'application/pdf': { schema: { type: 'string', format: 'binary' } } },
      },
      202: {
        description: 'Accepted, in mode `async`: from here on it will be rendered.',
        headers: {
          ...COMMON_HEADERS,
          Location: { type: 'string', description: 'The `poll_url`.' },
          'Retry-After': { type: 'integer', description: 'Seconds after which to poll first.' },
        },
        ...acceptedSchema,
        examples: [ACCEPTED],
      },
      ...refusals(REFUSALS, { INTERNAL_ERROR: { [headers.renderId]: RENDER_ID } }),
    },
  }
}

const RENDER_ID = { type: 'string', description: 'Identifier of the render, once there is one.' } as const

const REFUSALS = [
  'INVALID_PAYLOAD',
  'UNAUTHORIZED',
  'PAYMENT_REQUIRED',
  'TEMPLATE_NOT_FOUND',
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'VALIDATION_FAILED',
  'HEADERS_TOO_LARGE',
  'INTERNAL_ERROR',
  'RENDER_UNAVAILABLE',
] as const

const EXAMPLES: readonly RenderRequest[] = [
  { template: 'invoice', data: { number: '2026-0042' }, options: { filename: 'invoice-2026-0042.pdf' } },
  { template: 'invoice', data: { number: '2026-0042' }, mode: 'async', webhook_url: 'https://example.com/hooks/pdf' },
]

const ACCEPTED: Accepted = {
  render_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
  status: 'queued',
  poll_url: '/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R',
}
