/** POST /deliveries/:id/redeliver: one more attempt, at once, whatever the earlier results. */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Redelivery } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import { PORT_CALL_MS_MAX, UNAVAILABLE_RETRY_AFTER_S } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { findDelivery, isTest } from './delivery.ts'
import { redeliverSchema } from './redeliver.schema.ts'

export function redeliverRoute(app: FastifyInstance, ports: ApiPorts): void {
  const { deliveries, clock } = ports
  app.post<{ Params: { id: string } }>(
    '/deliveries/:id/redeliver',
    { schema: redeliverSchema() },
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
