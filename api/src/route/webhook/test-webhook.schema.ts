import { type TestEventRequest, testEventRequestSchema } from '@platen/contract/schema/render-request.ts'
import { type DeliveryDetail, deliveryDetailSchema } from '@platen/contract/schema/response.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'

export function testWebhookSchema(): object {
  return {
    operationId: 'testWebhook',
    tags: ['webhook'],
    summary: 'Send a test event to a receiver',
    description:
      'Sends one event `webhook.test`, signed and checked like every webhook, and waits for the answer of the receiver. It is not repeated and costs nothing.',
    security: KEY_REQUIRED,
    body: {
      ...testEventRequestSchema,
      examples: [{ url: 'https://example.com/hooks/pdf' } satisfies TestEventRequest],
    },
    response: {
      200: {
        description:
          'The delivery has ended. `attempts` has the one attempt, with `result`, `status_code` and `duration_ms`.',
        headers: COMMON_HEADERS,
        ...deliveryDetailSchema,
        examples: [EXAMPLE, REFUSED],
      },
      202: {
        description: 'The attempt is not made yet, after fifteen seconds. The delivery shows it later.',
        headers: { ...COMMON_HEADERS, Location: { type: 'string', description: 'The path of the delivery.' } },
        ...deliveryDetailSchema,
        examples: [{ ...TEST, status: 'scheduled', attempts: [] } satisfies DeliveryDetail],
      },
      ...refusals('testWebhook'),
    },
  }
}

const TEST = {
  id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
  event: 'webhook.test',
  url: 'https://example.com/hooks/pdf',
  created_at: '2026-11-21T12:00:00.412Z',
} as const

const EXAMPLE: DeliveryDetail = {
  ...TEST,
  status: 'delivered',
  attempts: [{ started_at: '2026-11-21T12:00:00.431Z', duration_ms: 42, result: 'ok', status_code: 204 }],
}

const REFUSED: DeliveryDetail = {
  ...TEST,
  status: 'exhausted',
  attempts: [
    {
      started_at: '2026-11-21T12:00:00.431Z',
      duration_ms: 87,
      result: 'status',
      status_code: 401,
      message: 'example.com answered with the status 401',
    },
  ],
}
