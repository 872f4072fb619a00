/** GET /deliveries/:id: one webhook delivery, with its attempts. */
import type { FastifyInstance } from 'fastify'
import type { ApiPorts } from '../../ports.ts'
import { detailOf, findDelivery } from './delivery.ts'
import { getDeliverySchema } from './get-delivery.schema.ts'

export function getDeliveryRoute(app: FastifyInstance, ports: ApiPorts): void {
  app.get<{ Params: { id: string } }>('/deliveries/:id', { schema: getDeliverySchema() }, async (request, reply) => {
    return await reply.send(detailOf(await findDelivery(request, ports)))
  })
}
