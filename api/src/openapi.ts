/**
 * Builds the OpenAPI document from the schemas that validate requests. Routes describe themselves in their `schema`. This file has the
 * common parts: headers, refusals, security, and the frame of the document.
 */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import {
  HTTP_ERRORS,
  type HttpErrorCode,
  type HttpErrorEntry,
  type Operation,
  reasonsOf,
} from '@platen/contract/domain/error.ts'
import { headerPrefix } from '@platen/contract/domain/header-prefix.ts'
import { type BatchWebhookBody, batchWebhookBodySchema } from '@platen/contract/schema/batch-request.ts'
import {
  errorBodySchema,
  type TestEventBody,
  testEventBodySchema,
  type WebhookBody,
  webhookBodySchema,
} from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'

/** Describes every route registered after it. */
export function describe(app: FastifyInstance, brand: string): void {
  app.register(swagger, {
    openapi: documentFrame(brand),
    // Paths keep the prefix, as in the interface.
    stripBasePath: false,
    convertConstToEnum: false,
    transformObject: (found) => withNamedSchemas('openapiObject' in found ? found.openapiObject : found.swaggerObject),
  })
}

function documentFrame(brand: string): NonNullable<FastifyDynamicSwaggerOptions['openapi']> & { webhooks: object } {
  return {
    openapi: '3.1.0',
    info: {
      title: 'PDF rendering service',
      version: '1.0.0',
      description: 'Renders PDF documents from named templates and JSON data, at once or in the background.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'The operators of this installation' },
    },
    servers: [{ url: '/', description: 'The server that returned this document.' }],
    tags: [
      { name: 'render', description: 'Create PDFs and read their status.' },
      { name: 'batch', description: 'Create many PDFs from one template at once.' },
      { name: 'template', description: 'List the templates that can be rendered.' },
      { name: 'usage', description: 'Read what is used and what is left.' },
      {
        name: 'webhook',
        description: 'Test a receiver, and list and repeat the deliveries of events to `webhook_url`.',
      },
      { name: 'health', description: 'For load balancers and orchestrators.' },
    ],
    webhooks: webhooks(brand),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: `An API key: \`${brand}_live_…\` in production, \`${brand}_test_…\` in the sandbox.`,
        },
      },
    },
  }
}

/** Requests to receivers. Every header is in every attempt. */
function webhooks(brand: string): Record<string, object> {
  const sent = (events: string, operation: object, content: object) => ({
    post: {
      ...operation,
      tags: ['webhook'],
      security: [],
      parameters: webhookHeaders(headerPrefix(brand), events),
      requestBody: { required: true, content: { 'application/json': content } },
      responses: WEBHOOK_ANSWERS,
    },
  })
  return {
    renderEnded: sent(
      '`render.succeeded` or `render.failed`.',
      {
        operationId: 'renderEnded',
        summary: 'A render has ended',
        description:
          'Sent to the `webhook_url` of a render. Verify one of the two signatures over the bytes of the body, before parsing it. An attempt that fails is repeated with the same `webhook-id`.',
      },
      { schema: webhookBodySchema, examples: WEBHOOK_EXAMPLES },
    ),
    batchEnded: sent(
      '`batch.ended`.',
      {
        operationId: 'batchEnded',
        summary: 'A batch has ended',
        description:
          'Sent to the `webhook_url` of a batch when each of its renders has ended. It is signed and repeated as the event of a render.',
      },
      { schema: batchWebhookBodySchema, examples: BATCH_EXAMPLES },
    ),
    webhookTest: sent(
      '`webhook.test`.',
      {
        operationId: 'webhookTest',
        summary: 'A test of the receiver',
        description: 'Sent once by `POST /api/v1/webhooks/test`, signed like every event. Answer 2xx and do nothing.',
      },
      { schema: testEventBodySchema, examples: TEST_EVENT_EXAMPLES },
    ),
  }
}

function webhookHeaders(prefix: string, events: string): readonly object[] {
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
  })
  return [
    header(`${prefix}-Event`, events),
    header(`${prefix}-Delivery`, 'Id of the delivery, a UUIDv7; the same in every attempt.'),
    header(`${prefix}-Timestamp`, 'Unix seconds at which this attempt was signed.'),
    header(`${prefix}-Signature`, '`sha256=` and the hexadecimal HMAC-SHA256 of timestamp, dot and body.'),
    header('webhook-id', 'As Standard Webhooks has it: the id of the delivery.'),
    header('webhook-timestamp', 'As Standard Webhooks has it: Unix seconds.'),
    header('webhook-signature', 'As Standard Webhooks has it: `v1,` and a signature, once for each secret in force.'),
  ]
}

const WEBHOOK_ANSWERS = {
  '2XX': { description: 'The event is delivered.' },
  '410': { description: 'The receiver wants no more attempts of this delivery.' },
  default: {
    description:
      'The attempt failed. It is repeated later, as often as the service is configured to; a test event is not.',
  },
}

const TEST_EVENT_EXAMPLES: Readonly<Record<string, { readonly summary: string; readonly value: TestEventBody }>> = {
  test: {
    summary: 'A test',
    value: { id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71', status: 'test', created_at: '2026-11-21T12:00:00.412Z' },
  },
}

const BATCH_EXAMPLES: Readonly<Record<string, { readonly summary: string; readonly value: BatchWebhookBody }>> = {
  ended: {
    summary: 'All renders have ended',
    value: {
      batch_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
      template: 'invoice',
      reference: 'invoices-2026-11',
      status: 'ended',
      total: 2,
      succeeded: 2,
      failed: 0,
      created_at: '2026-11-21T12:00:00.000Z',
      ended_at: '2026-11-21T12:00:03.187Z',
    },
  },
}

const WEBHOOK_RENDER = {
  id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
  render_id: '01KAKF3V7NFRYS8EMV1HFRWBBH',
  template: 'invoice',
} as const

const WEBHOOK_EXAMPLES: Readonly<Record<string, { readonly summary: string; readonly value: WebhookBody }>> = {
  succeeded: {
    summary: 'The PDF is there',
    value: {
      ...WEBHOOK_RENDER,
      status: 'succeeded',
      duration_ms: 412,
      bytes: 48_213,
      artifact_id: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    },
  },
  failed: {
    summary: 'The render failed for good',
    value: {
      ...WEBHOOK_RENDER,
      status: 'failed',
      error_code: 'render_timeout',
      error_reason: 'render_timeout',
      error_message: 'the render did not finish within its deadline of 25 seconds',
    },
  },
}

/**
 * Moves every schema with a `title` to the components, under that name, so that generated clients have one type for each. The description
 * of a use stays there, beside the reference.
 */
function withNamedSchemas<Document extends object>(document: Document): Document {
  const schemas: Record<string, unknown> = {}
  const moveField = ([name, value]: readonly [string, unknown]): readonly [string, unknown] => {
    if (name.startsWith('example')) return [name, value]
    return [name, move(name === 'schema' ? withoutDescription(value) : value)]
  }
  const move = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(move)
    if (typeof value !== 'object' || value === null) return value
    const { title, ...rest } = Object.fromEntries(Object.entries(value).map(moveField))
    if (typeof title !== 'string' || !('type' in rest)) return { ...(title !== undefined && { title }), ...rest }
    const { description, ...only } = rest
    const schema = withOneType(only)
    assert(schemas[title] === undefined || isDeepStrictEqual(schemas[title], schema), `two schemas are named ${title}`)
    schemas[title] = schema
    return { $ref: `#/components/schemas/${title}`, ...(description !== undefined && { description }) }
  }
  const moved = move(document) as Document & { readonly components: object }
  const sorted = Object.fromEntries(Object.entries(schemas).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return { ...moved, components: { ...moved.components, schemas: sorted } }
}

const LIMITS: Readonly<Record<string, readonly string[]>> = { number: ['minimum', 'maximum'], string: ['pattern'] }

/** Rewrites a list of types as a union. Client generators from the time of OpenAPI 3.0 know no list of types. */
function withOneType({ type: types, ...limits }: Readonly<Record<string, unknown>>): object {
  if (!Array.isArray(types)) return { type: types, ...limits }
  const anyOf = types.map((type) => ({
    type,
    ...Object.fromEntries(Object.entries(limits).filter(([name]) => LIMITS[type]?.includes(name))),
  }))
  assert(
    Object.keys(limits).every((name) => anyOf.some((each) => name in each)),
    'each limit is of one of the types',
  )
  return { anyOf }
}

/** `@fastify/swagger` repeats the description of an answer in its schema. */
function withoutDescription(schema: unknown): unknown {
  return typeof schema === 'object' ? { ...schema, description: undefined } : schema
}

interface HeaderSchema {
  readonly type: 'string' | 'integer'
  readonly description: string
}

export type HeaderSchemas = Readonly<Record<string, HeaderSchema>>

export const KEY_REQUIRED = [{ apiKey: [] }]
export const NO_KEY: readonly object[] = []

export const COMMON_HEADERS: HeaderSchemas = {
  'X-Request-Id': {
    type: 'string',
    description: 'The id that the request sent, if it is usable; otherwise a new one.',
  },
}

const HEADERS_OF_REFUSALS = {
  'Retry-After': { type: 'integer', description: 'Seconds to wait before the next try.' },
  'WWW-Authenticate': { type: 'string', description: '`Bearer`.' },
} as const satisfies Record<NonNullable<HttpErrorEntry['headers']>[number], HeaderSchema>

/**
 * The response schemas for the refusals of an operation, from the error catalog: one per status, with the codes of that status. `headers`
 * are those that a code has only in this operation.
 */
export function refusals(
  operation: Operation,
  headers: Partial<Record<HttpErrorCode, HeaderSchemas>> = {},
): Record<number, object> {
  // The catalog has no other keys.
  const codes = Object.keys(HTTP_ERRORS) as HttpErrorCode[]
  const entryOf = (code: HttpErrorCode): HttpErrorEntry => HTTP_ERRORS[code]
  const headersOf = (code: HttpErrorCode) => [
    ...(entryOf(code).headers ?? []).map((name) => ({ [name]: HEADERS_OF_REFUSALS[name] })),
    headers[code],
  ]
  const known = codes.filter((code) => entryOf(code).operations.includes(operation))
  const byStatus = Object.groupBy(known, (code) => HTTP_ERRORS[code].status)
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, group]) => [
      status,
      {
        description: group.map((code) => `\`${code}\`: ${HTTP_ERRORS[code].summary}`).join(' '),
        headers: Object.assign({}, COMMON_HEADERS, ...group.flatMap(headersOf)),
        ...errorBodySchema,
        examples: group.map((code) => ({
          error: {
            code,
            reason: reasonsOf(code)[0],
            message: HTTP_ERRORS[code].summary,
            request_id: '6f1d2c3b4a5968778695a4b3c2d1e0f0',
          },
        })),
      },
    ]),
  )
}
