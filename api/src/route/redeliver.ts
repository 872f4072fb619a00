/**
 * POST /deliveries/:id/redeliver: one more attempt, at once, whatever the earlier results. The log knows the tenant of a delivery. An id
 * of another tenant gets the same answer as an unknown id.
 */
import { ServiceError } from '@platen/contract/error.ts'
import { type Redelivery, redeliverySchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import { callerOf } from '../admission/authenticate.ts'
import { PORT_CALL_MS_MAX, UNAVAILABLE_RETRY_AFTER_S } from '../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../openapi.ts'
import type { ApiPorts } from '../ports.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function redeliverRoute(app: FastifyInstance, { deliveries, clock }: ApiPorts): void {
  app.post<{ Params: { id: string } }>(
    '/deliveries/:id/redeliver',
    { schema: description() },
    async (request, reply) => {
      const { tenant, key } = callerOf(request)
      const { id } = request.params
      const signal = clock.timeout(PORT_CALL_MS_MAX)
      const record = UUID.test(id) ? await deliveries.find(id, signal) : undefined
      const isTheirs =
        record?.delivery.account === tenant.incarnation && record.delivery.environment === key.environment
      if (!isTheirs) throw new ServiceError('DELIVERY_NOT_FOUND', 'No delivery of this id is kept for this key.')
      request.render = record.delivery.render
      if (!(await deliveries.redeliver(id, signal))) throw tooMany()
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
    description: 'For a receiver that was away, or that lost what it got. Deliveries of all states can be repeated.',
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
