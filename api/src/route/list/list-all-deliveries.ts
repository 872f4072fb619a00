/** GET /deliveries: the webhook deliveries of the caller's renders. */
import { DELIVERY_STATUSES, type DeliveryStatus } from '@platen/contract/domain/delivery.ts'
import type { DeliveryQuery, ListedDelivery } from '@platen/contract/port/delivery-list.ts'
import { type DeliveryPage, deliveryPageSchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import type { ApiPorts } from '../../ports.ts'
import { timeOf } from '../get-render.ts'
import { attemptOf } from '../webhook/delivery.ts'
import { type CommonQuery, listRoute } from './list-route.ts'

interface Query extends CommonQuery {
  readonly status?: DeliveryStatus
}

export function listAllDeliveriesRoute(app: FastifyInstance, ports: ApiPorts): void {
  listRoute<Query, Pick<DeliveryQuery, 'status'>>(app, ports, {
    path: '/deliveries',
    operation: {
      operationId: 'listAllDeliveries',
      tags: ['webhook'],
      summary: 'List webhook deliveries',
      description:
        'The deliveries of all renders of the tenant in the environment of the key that are still kept, in the order of these renders, the newest first. Filters apply together. Test events and ends of batches are not listed.',
    },
    words: { entries: 'Deliveries', source: 'render', accepted: 'Deliveries of renders' },
    filters: { status: { title: 'DeliveryStatus', type: 'string', enum: DELIVERY_STATUSES } },
    filtersOf: ({ status }) => (status === undefined ? {} : { status }),
    cursorOf: ({ status, template, reference, since, before }) => [
      'deliveries',
      status,
      template,
      reference,
      since,
      before,
    ],
    async page(query, signal) {
      const { deliveries, ...rest } = await ports.deliveryList.page(query, signal)
      return { ...rest, body: { deliveries: deliveries.map(entryOf) } }
    },
    answer: { ...deliveryPageSchema, examples: [EXAMPLE] },
  })
}

function entryOf(delivery: ListedDelivery): DeliveryPage['deliveries'][number] {
  const { id, event, render, template, reference, status, createdAt, lastAttempt } = delivery
  return {
    id,
    event,
    render_id: render,
    template,
    ...(reference !== undefined && { reference }),
    status,
    created_at: timeOf(createdAt),
    ...(lastAttempt !== undefined && { last_attempt: attemptOf(lastAttempt) }),
  }
}

const EXAMPLE: DeliveryPage = {
  deliveries: [
    {
      id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
      event: 'render.succeeded',
      render_id: '01KAKF3V7NFRYS8EMV1HFRWBBH',
      template: 'invoice',
      reference: 'order-2026-0042',
      status: 'exhausted',
      created_at: '2026-11-21T12:00:00.412Z',
      last_attempt: { started_at: '2026-11-21T12:35:41.007Z', duration_ms: 87, result: 'status', status_code: 503 },
    },
  ],
  next_cursor: 'AZqm8exVfw-IFPrdMn6zCJ8E5W1pXo2kR7sLq0aGbTQ',
}
