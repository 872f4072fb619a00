import { type StatusRecord, statusRecordSchema } from '@platen/contract/schema/response.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../openapi.ts'
import { WAIT_S_MAX } from './limit.ts'

const querySchema = {
  type: 'object',
  properties: {
    wait: {
      type: 'integer',
      minimum: 0,
      maximum: WAIT_S_MAX,
      default: 0,
      description:
        'Seconds to wait for the end of the render, at most. The answer comes as soon as the render has ended, and after this time with the status of then.',
    },
  },
} as const

export function getRenderSchema(): object {
  return {
    operationId: 'getRender',
    tags: ['render'],
    summary: 'Get the status of a render',
    description:
      'Renders are found by their id as long as the retention of the plan says, by keys of the same tenant and environment.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { id: { type: 'string', description: 'The `render_id`.' } } },
    querystring: querySchema,
    response: {
      200: {
        description: 'The status record. Ask for it until `status` is `succeeded` or `failed`.',
        headers: {
          ...COMMON_HEADERS,
          'Retry-After': {
            type: 'integer',
            description:
              'Seconds before the next request. Sent if too many callers wait already, so that this one was answered at once.',
          },
        },
        ...statusRecordSchema,
        examples: EXAMPLES,
      },
      ...refusals('getRender'),
    },
  }
}

const CREATED = {
  render_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
  template: 'invoice',
  reference: 'order-2026-0042',
  metadata: { customer: 'c-17' },
  created_at: '2026-11-21T12:00:00.000Z',
}

const EXAMPLES: readonly StatusRecord[] = [
  { ...CREATED, status: 'queued' },
  {
    ...CREATED,
    status: 'succeeded',
    pdf_url: 'https://storage.example.com/acme/01KAJHYV7NF3S8G9TWQ2MZXC4R.pdf?expires=1795262400',
    pdf_size_bytes: 48_213,
    pages: 2,
    finished_at: '2026-11-21T12:00:00.412Z',
  },
  {
    ...CREATED,
    status: 'failed',
    finished_at: '2026-11-21T12:00:25.031Z',
    error: {
      code: 'render_timeout',
      reason: 'render_timeout',
      message: 'the render did not finish within its deadline of 25 seconds',
    },
  },
]
