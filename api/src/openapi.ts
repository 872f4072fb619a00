/**
 * Builds the OpenAPI document from the schemas that validate requests. Routes describe themselves in their `schema`. This file has the
 * common parts: headers, refusals, security, and the frame of the document.
 */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import {
  HTTP_ERRORS,
  type HttpErrorCode,
  type HttpErrorEntry,
  type Operation,
  reasonsOf,
} from '@platen/contract/error.ts'
import { errorBodySchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'

/** The schema name of refusals. Generated clients get one type for them. */
const ERROR_SCHEMA = 'Error'

/** Describes every route registered after it. */
export function describe(app: FastifyInstance, brand: string): void {
  app.addSchema({ $id: ERROR_SCHEMA, ...errorBodySchema })
  app.register(swagger, {
    openapi: documentFrame(brand),
    // The paths in the interface include the prefix.
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
    servers: [{ url: '/', description: 'The server that returned this document.' }],
    tags: [
      { name: 'render', description: 'Create PDFs and read their status.' },
      { name: 'template', description: 'List the templates that can be rendered.' },
      { name: 'usage', description: 'Read what is used and what is left.' },
      { name: 'webhook', description: 'List and repeat the deliveries of events to `webhook_url`.' },
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

/** A response header in the schema of a route. */
export interface HeaderSchema {
  readonly type: 'string' | 'integer'
  readonly description: string
}

export type HeaderSchemas = Readonly<Record<string, HeaderSchema>>

/** Any valid key is accepted. */
export const KEY_REQUIRED = [{ apiKey: [] }]

/** Headers of every answer. */
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
 * Returns the response schemas for the refusals of an operation, as the error catalog has them: one per status, with the codes of that
 * status. `headers` are the headers that a code has in this operation only.
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
        allOf: [
          { $ref: `${ERROR_SCHEMA}#` },
          { type: 'object', properties: { error: { type: 'object', properties: { code: { enum: group } } } } },
        ],
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
