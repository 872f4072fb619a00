import { type BatchRecord, batchRecordSchema } from '@platen/contract/schema/batch-request.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'

export function getBatchSchema(): object {
  return {
    operationId: 'getBatch',
    tags: ['batch'],
    summary: 'Get the status of a batch',
    description:
      'How many of its renders are in which state. `GET /api/v1/renders?batch=…` lists them. A batch is found as long as its renders are kept.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { id: { type: 'string', description: 'The `batch_id`.' } } },
    response: {
      200: {
        description: 'The status. It is `ended` once each render has succeeded or failed, and final then.',
        headers: COMMON_HEADERS,
        ...batchRecordSchema,
        examples: [EXAMPLE],
      },
      ...refusals('getBatch'),
    },
  }
}

const EXAMPLE: BatchRecord = {
  batch_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
  template: 'invoice',
  reference: 'invoices-2026-11',
  status: 'ended',
  total: 2,
  queued: 0,
  running: 0,
  succeeded: 2,
  failed: 0,
  created_at: '2026-11-21T12:00:00.000Z',
  ended_at: '2026-11-21T12:00:03.187Z',
}
