import { type StatusRecord, statusRecordSchema } from '@platen/contract/schema/response.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../openapi.ts'

export function deleteRenderSchema(): object {
  return {
    operationId: 'deleteRender',
    tags: ['render'],
    summary: 'Cancel or remove a render',
    description:
      'A render that waits or runs is canceled: it fails with the reason `canceled` and costs nothing. One that has ended is removed: its PDF is deleted, and every later request for it is answered 410.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { id: { type: 'string', description: 'The `render_id`.' } } },
    response: {
      200: {
        description: 'The render was canceled, now or before. Its webhook is sent as for every end of a render.',
        headers: COMMON_HEADERS,
        ...statusRecordSchema,
        examples: [EXAMPLE],
      },
      204: { description: 'The render had ended and is removed.', headers: COMMON_HEADERS, type: 'null' },
      ...refusals('deleteRender'),
    },
  }
}

const EXAMPLE: StatusRecord = {
  render_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
  template: 'invoice',
  status: 'failed',
  created_at: '2026-11-21T12:00:00.000Z',
  finished_at: '2026-11-21T12:00:03.187Z',
  error: { code: 'canceled', reason: 'canceled', message: 'the render was canceled by its caller' },
}
