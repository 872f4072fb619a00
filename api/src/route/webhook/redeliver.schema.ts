import { type Redelivery, redeliverySchema } from '@platen/contract/schema/response.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'

export function redeliverSchema(): object {
  return {
    operationId: 'redeliver',
    tags: ['webhook'],
    summary: 'Repeat a webhook delivery',
    description:
      'For a receiver that was away, or that lost what it got. Deliveries of all states can be repeated, but not test events.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { id: { type: 'string', description: 'The id of the delivery.' } } },
    response: {
      202: {
        description: 'One more attempt is made at once, with the same delivery id. Scheduled retries do not change.',
        headers: COMMON_HEADERS,
        ...redeliverySchema,
        examples: [{ id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71', status: 'exhausted' } satisfies Redelivery],
      },
      ...refusals('redeliver'),
    },
  }
}
