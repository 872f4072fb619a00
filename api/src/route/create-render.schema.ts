import { headerPrefix } from '@platen/contract/domain/header-prefix.ts'
import { type RenderRequest, renderRequestSchema } from '@platen/contract/schema/render-request.ts'
import { type Accepted, acceptedSchema } from '@platen/contract/schema/response.ts'
import { COMMON_HEADERS, type HeaderSchemas, KEY_REQUIRED, refusals } from '../openapi.ts'
import { IDEMPOTENCY_KEY_CHARS_MAX } from './limit.ts'

export interface HeaderNames {
  readonly renderId: string
  readonly renderMs: string
  readonly pages: string
  readonly warnings: string
  readonly quotaLimit: string
  readonly quotaRemaining: string
}

/** `brand` is the word of the installation. */
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

export function createRenderSchema(headers: HeaderNames): object {
  const limits = limitHeaders(headers)
  return {
    operationId: 'createRender',
    tags: ['render'],
    summary: 'Render a PDF',
    description:
      'In mode `sync` the answer is the PDF; in mode `async` it is an id to poll with. The body may be sent as `Content-Encoding: gzip`.',
    security: KEY_REQUIRED,
    headers: { type: 'object', properties: { 'idempotency-key': IDEMPOTENCY_KEY } },
    body: { ...renderRequestSchema, not: CONTRADICTION, examples: EXAMPLES },
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
        headers: acceptedHeaders(headers),
        ...acceptedSchema,
        examples: [ACCEPTED],
      },
      ...refusals('createRender', {
        ...limitRefusals(headers),
        INTERNAL_ERROR: { [headers.renderId]: RENDER_ID, ...limits, ...REPLAYED },
      }),
    },
  }
}

/** `modeOf` refuses it, and names the place. */
const CONTRADICTION = {
  required: ['mode', 'async'],
  anyOf: [
    { properties: { mode: { const: 'sync' }, async: { const: true } } },
    { properties: { mode: { const: 'async' }, async: { const: false } } },
  ],
} as const

export function linksTo(id: string): Record<string, object> {
  const of = (operationId: string) => ({ operationId, parameters: { id } })
  return { status: of('getRender'), pdf: of('getPdf'), remove: of('deleteRender') }
}

const RENDER_ID = { type: 'string', description: 'Id of the render, if it already has one.' } as const

export function acceptedHeaders(headers: HeaderNames): HeaderSchemas {
  return {
    ...COMMON_HEADERS,
    Location: { type: 'string', description: 'The `poll_url`.' },
    'Retry-After': { type: 'integer', description: 'Seconds to wait before the first poll.' },
    ...limitHeaders(headers),
    ...REPLAYED,
  }
}

export function limitRefusals(headers: HeaderNames): Parameters<typeof refusals>[1] {
  const limits = limitHeaders(headers)
  return {
    PAYMENT_REQUIRED: limits,
    IDEMPOTENCY_IN_PROGRESS: limits,
    RATE_LIMITED: limits,
    HTML_RATE_LIMIT_EXCEEDED: limits,
    RENDER_UNAVAILABLE: limits,
  }
}

/** Printable ASCII. */
export const IDEMPOTENCY_KEY_PATTERN = `^[\\x20-\\x7e]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$`

const IDEMPOTENCY_KEY = {
  type: 'string',
  pattern: IDEMPOTENCY_KEY_PATTERN,
  description:
    'A key of your choice, 1 to 255 printable ASCII characters. For 24 hours, the same body with the same key gets the same answer and makes only one render. A DELETE of that render frees the key.',
} as const

function limitHeaders({ quotaLimit, quotaRemaining }: HeaderNames): HeaderSchemas {
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

const REPLAYED: HeaderSchemas = {
  'Idempotent-Replayed': {
    type: 'string',
    description: '`true` if this is the answer to an earlier request with the same `Idempotency-Key`.',
  },
}

/** Data for the template `invoice` of the example manifests. */
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
