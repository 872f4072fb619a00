/**
 * The OpenAPI document, made from the schemas that validate. Routes describe themselves in their `schema`; this file holds what
 * they share: headers, refusals, security, and the frame of the document.
 */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { HTTP_ERRORS, type HttpErrorCode } from '@platen/contract/error.ts'
import { errorBodySchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'

/** The name under which refusals are described; generated clients get one type for them. */
const ERROR_SCHEMA = 'Error'

/** Describes every route registered after it. */
export function describe(app: FastifyInstance, brand: string): void {
  app.addSchema({ $id: ERROR_SCHEMA, ...errorBodySchema })
  app.register(swagger, {
    openapi: documentFrame(brand),
    // The prefix of the paths is part of them: the interface names them so.
    stripBasePath: false,
    convertConstToEnum: false,
    refResolver: { buildLocalReference: ({ $id }) => (typeof $id === 'string' ? $id : ERROR_SCHEMA) },
  })
}

function documentFrame(brand: string): NonNullable<FastifyDynamicSwaggerOptions['openapi']> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'PDF rendering service',
      version: '1',
      description: 'Renders PDF documents from named templates and JSON data, at once or in the background.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'Wherever this document was read.' }],
    tags: [
      { name: 'render', description: 'Make PDFs and learn what became of them.' },
      { name: 'template', description: 'What there is to render.' },
      { name: 'webhook', description: 'What became of the events sent to `webhook_url`.' },
      { name: 'health', description: 'For load balancers and orchestrators.' },
    ],
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

/** A response header as a route's schema describes it. */
export interface HeaderSchema {
  readonly type: 'string' | 'integer'
  readonly description: string
}

export type HeaderSchemas = Readonly<Record<string, HeaderSchema>>

/** What is needed of a key: any that is good. */
export const KEY_REQUIRED = [{ apiKey: [] }]

/** On every answer whatever. */
export const COMMON_HEADERS: HeaderSchemas = {
  'X-Request-Id': { type: 'string', description: 'The one sent, where usable, else one made for this request.' },
}

const RETRY_AFTER = { type: 'integer', description: 'Seconds after which to try again.' } as const

const HEADERS_OF: Partial<Record<HttpErrorCode, HeaderSchemas>> = {
  UNAUTHORIZED: { 'WWW-Authenticate': { type: 'string', description: '`Bearer`.' } },
  IDEMPOTENCY_IN_PROGRESS: { 'Retry-After': RETRY_AFTER },
  RATE_LIMITED: { 'Retry-After': RETRY_AFTER },
  HTML_RATE_LIMIT_EXCEEDED: { 'Retry-After': RETRY_AFTER },
  RENDER_UNAVAILABLE: { 'Retry-After': RETRY_AFTER },
}

/** The refusals of a route as response schemas: one for each status, naming the codes that come with it. `headers` are those that a code brings on this route alone. */
export function refusals(
  codes: readonly HttpErrorCode[],
  headers: Partial<Record<HttpErrorCode, HeaderSchemas>> = {},
): Record<number, object> {
  const byStatus = Object.groupBy(codes, (code) => HTTP_ERRORS[code].status)
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, group]) => [
      status,
      {
        description: group.map((code) => `\`${code}\`: ${HTTP_ERRORS[code].summary}`).join(' '),
        headers: Object.assign({}, COMMON_HEADERS, ...group.map((code) => ({ ...HEADERS_OF[code], ...headers[code] }))),
        allOf: [
          { $ref: `${ERROR_SCHEMA}#` },
          { type: 'object', properties: { error: { type: 'object', properties: { code: { enum: group } } } } },
        ],
        examples: group.map((code) => ({
          error: { code, message: HTTP_ERRORS[code].summary, request_id: '6f1d2c3b4a5968778695a4b3c2d1e0f0' },
        })),
      },
    ]),
  )
}
