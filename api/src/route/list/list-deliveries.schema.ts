import { type DeliveryList, deliveryListSchema } from '@platen/contract/schema/response.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'

export function listDeliveriesSchema(): object {
  return {
    operationId: 'listDeliveries',
    tags: ['webhook'],
    summary: 'List the webhook deliveries of a render',
    description: 'Shows what was sent to the receiver, what it answered, and when the next attempt is due.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { id: { type: 'string', description: 'The `render_id`.' } } },
    response: {
      200: {
        description:
          'The deliveries. The list is empty if the render has no `webhook_url`, has not ended yet, or is no longer kept.',
        headers: COMMON_HEADERS,
        ...deliveryListSchema,
        examples: [EXAMPLE],
      },
      ...refusals('listDeliveries'),
    },
  }
}

const EXAMPLE: DeliveryList = {
  deliveries: [
    {
      id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
      event: 'render.succeeded',
      url: 'https://example.com/hooks/pdf',
      status: 'delivered',
      created_at: '2026-11-21T12:00:00.412Z',
      attempts: [
        {
          started_at: '2026-11-21T12:00:00.431Z',
          duration_ms: 87,
          result: 'status',
          status_code: 503,
          message: 'example.com answered with the status 503',
          response_excerpt: 'try again later',
        },
        { started_at: '2026-11-21T12:00:01.562Z', duration_ms: 42, result: 'ok', status_code: 204 },
      ],
    },
  ],
}
