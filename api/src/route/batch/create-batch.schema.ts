import {
  type BatchAccepted,
  type BatchRequest,
  batchAcceptedSchema,
  batchRequestSchema,
} from '@platen/contract/schema/batch-request.ts'
import { KEY_REQUIRED, refusals } from '../../openapi.ts'
import {
  acceptedHeaders,
  type HeaderNames,
  IDEMPOTENCY_KEY_PATTERN,
  INVOICE,
  limitRefusals,
} from '../create-render.schema.ts'

export function createBatchSchema(headers: HeaderNames): object {
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
        headers: acceptedHeaders(headers),
        ...batchAcceptedSchema,
        examples: [ACCEPTED],
      },
      ...refusals('createBatch', limitRefusals(headers)),
    },
  }
}

const IDEMPOTENCY_KEY = {
  type: 'string',
  pattern: IDEMPOTENCY_KEY_PATTERN,
  description:
    'A key of your choice, 1 to 255 printable ASCII characters. For 24 hours, the same items with the same key get the same answer and make only one batch.',
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
