/** POST /deliveries/:id/redeliver: one more attempt, at once, whatever the earlier results. */
import { ServiceError } from '@platen/contract/error.ts'
import { type Redelivery, redeliverySchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import { PORT_CALL_MS_MAX, UNAVAILABLE_RETRY_AFTER_S } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { findDelivery, isTest } from './delivery.ts'

export function redeliverRoute(app: FastifyInstance, ports: ApiPorts): void {
  const { deliveries, clock } = ports
  app.post<{ Params: { id: string } }>(
    '/deliveries/:id/redeliver',
    { schema: description() },
    async (request, reply) => {
      const record = await findDelivery(request, ports)
      const { id } = record.delivery
      // A repetition would not count in the rate of test events.
      if (isTest(record))
        throw new ServiceError('DELIVERY_NOT_FOUND', 'A test event is not repeated: send another one.')
      if (!(await deliveries.redeliver(id, clock.timeout(PORT_CALL_MS_MAX)))) throw tooMany()
      const body: Redelivery = { id, status: record.status }
      return await reply.code(202).send(body)
    },
  )
}

function tooMany(): ServiceError {
  return new ServiceError('RATE_LIMITED', 'Too many attempts of this delivery are requested and not yet made.', {
    headers: { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` },
  })
}

function description(): object {
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
