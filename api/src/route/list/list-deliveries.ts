/** GET /render/:id/deliveries: the webhook deliveries of a render, with each attempt. */
import type { DeliveryList } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { renderOf } from '../get-render.ts'
import { deliveryOf } from '../webhook/delivery.ts'
import { listDeliveriesSchema } from './list-deliveries.schema.ts'

export function listDeliveriesRoute(app: FastifyInstance, ports: ApiPorts): void {
  const { deliveries, clock } = ports
  app.get<{ Params: { id: string } }>(
    '/render/:id/deliveries',
    { schema: listDeliveriesSchema() },
    async (request, reply) => {
      const id = renderOf(request, request.params.id, ports)
      const records = await deliveries.listByRender(id, clock.timeout(PORT_CALL_MS_MAX))
      const body: DeliveryList = { deliveries: records.map(deliveryOf) }
      return await reply.send(body)
    },
  )
}
