/** GET /deliveries: the webhook deliveries of the caller's renders, the newest first, page by page. A list that may lack some is refused. */
import { DELIVERY_STATUSES, type DeliveryStatus } from '@platen/contract/delivery.ts'
import type { DeliveryQuery, ListedDelivery } from '@platen/contract/port/delivery-list.ts'
import { referenceSchema, templateCodeSchema } from '@platen/contract/schema/render-request.ts'
import { type DeliveryPage, deliveryPageSchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { timeOf } from '../get-render.ts'
import { LIST_PER_PAGE_DEFAULT, LIST_PER_PAGE_MAX } from '../limit.ts'
import { attemptOf } from '../webhook/delivery.ts'
import { type CursorScope, cursorAfter } from './cursor.ts'
import { type CommonQuery, commonQueryOf, cursorSchema, instant, startOf, throwIncomplete } from './list-query.ts'

const querySchema = {
  type: 'object',
  // A filter with a typing error would list everything.
  additionalProperties: false,
  properties: {
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: LIST_PER_PAGE_MAX,
      default: LIST_PER_PAGE_DEFAULT,
      description: 'Deliveries on a page, at most. A page may have fewer, also if there are more.',
    },
    cursor: cursorSchema,
    status: { title: 'DeliveryStatus', type: 'string', enum: DELIVERY_STATUSES },
    template: templateCodeSchema,
    reference: { ...referenceSchema, description: '`reference` of the render: the whole of it, as it was sent.' },
    created_after: { ...instant, description: 'Deliveries of renders accepted at this time (RFC 3339) or later.' },
    created_before: { ...instant, description: 'Deliveries of renders accepted before this time (RFC 3339).' },
  },
} as const

interface Query extends CommonQuery {
  readonly status?: DeliveryStatus
}

export function listAllDeliveriesRoute(app: FastifyInstance, ports: ApiPorts): void {
  const { deliveryList, clock, keys } = ports
  app.get<{ Querystring: Query }>('/deliveries', { schema: description() }, async (request, reply) => {
    const { status } = request.query
    const asked: DeliveryQuery = { ...commonQueryOf(request), ...(status !== undefined && { status }) }
    const cursorScope = cursorScopeOf(asked)
    const query = { ...asked, ...startOf(request.query, cursorScope, ports) }
    const { deliveries, next } = await deliveryList.page(query, clock.timeout(PORT_CALL_MS_MAX)).catch(throwIncomplete)
    const body: DeliveryPage = {
      deliveries: deliveries.map(entryOf),
      ...(next !== undefined && { next_cursor: cursorAfter(next, cursorScope, keys()) }),
    }
    return await reply.send(body)
  })
}

/** The first filter is none that a list of renders has, so that its cursors are not taken here. */
function cursorScopeOf({ scope, status, template, reference, since, before }: DeliveryQuery): CursorScope {
  return { scope, filters: ['deliveries', status, template, reference, since, before] }
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

function description(): object {
  return {
    operationId: 'listAllDeliveries',
    tags: ['webhook'],
    summary: 'List webhook deliveries',
    description:
      'The deliveries of all renders of the tenant in the environment of the key that are still kept, in the order of these renders, the newest first. Filters apply together. Test events and ends of batches are not listed.',
    security: KEY_REQUIRED,
    querystring: querySchema,
    response: {
      200: {
        description: 'One page. The last page has no `next_cursor`.',
        headers: COMMON_HEADERS,
        ...deliveryPageSchema,
        examples: [EXAMPLE],
      },
      ...refusals('listAllDeliveries'),
    },
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
