import { type DeliveryDetail, deliveryDetailSchema } from '@platen/contract/schema/response.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'

export function getDeliverySchema(): object {
  return {
    operationId: 'getDelivery',
    tags: ['webhook'],
    summary: 'Get a webhook delivery',
    description: 'Shows what was sent, what the receiver answered, and when the next attempt is due.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { id: { type: 'string', description: 'The id of the delivery.' } } },
    response: {
      200: {
        description: 'The delivery.',
        headers: COMMON_HEADERS,
        ...deliveryDetailSchema,
        examples: [EXAMPLE],
      },
      ...refusals('getDelivery'),
    },
  }
}

const EXAMPLE: DeliveryDetail = {
  id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
  event: 'render.succeeded',
  render_id: '01KAKF3V7NFRYS8EMV1HFRWBBH',
  url: 'https://example.com/hooks/pdf',
  status: 'delivered',
  created_at: '2026-11-21T12:00:00.412Z',
  attempts: [{ started_at: '2026-11-21T12:00:00.431Z', duration_ms: 42, result: 'ok', status_code: 204 }],
}
