/** GET /renders: the caller's renders in its environment, the newest first, page by page. A list that may lack some is refused. */
import type { ServiceError } from '@platen/contract/error.ts'
import type { ListedRender, RenderQuery } from '@platen/contract/port/render-list.ts'
import { labelsOf, STATUSES, type Status } from '@platen/contract/render.ts'
import { verifyBatchId } from '@platen/contract/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import { referenceSchema, templateCodeSchema } from '@platen/contract/schema/render-request.ts'
import { type RenderPage, renderPageSchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { malformed } from '../../problem.ts'
import { timeOf } from '../get-render.ts'
import { LIST_PER_PAGE_DEFAULT, LIST_PER_PAGE_MAX } from '../limit.ts'
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
      description: 'Renders on a page, at most. A page may have fewer, also if there are more.',
    },
    cursor: cursorSchema,
    status: { title: 'RenderStatus', type: 'string', enum: STATUSES },
    template: templateCodeSchema,
    engine: { title: 'Engine', type: 'string', enum: ENGINES, description: 'The engine that renders.' },
    reference: { ...referenceSchema, description: '`reference` of the request: the whole of it, as it was sent.' },
    batch: { type: 'string', description: 'The `batch_id` of a batch: only its renders.' },
    created_after: { ...instant, description: 'Renders accepted at this time (RFC 3339) or later.' },
    created_before: { ...instant, description: 'Renders accepted before this time (RFC 3339).' },
  },
} as const

interface Query extends CommonQuery {
  readonly status?: Status
  readonly engine?: Engine
  readonly batch?: string
}

export function listRendersRoute(app: FastifyInstance, ports: ApiPorts): void {
  const { list, clock, keys } = ports
  app.get<{ Querystring: Query }>('/renders', { schema: description() }, async (request, reply) => {
    const asked = queryOf(request, ports)
    const cursorScope = cursorScopeOf(asked)
    const query = { ...asked, ...startOf(request.query, cursorScope, ports) }
    const { renders, next } = await list.page(query, clock.timeout(PORT_CALL_MS_MAX)).catch(throwIncomplete)
    const body: RenderPage = {
      renders: renders.map(entryOf),
      ...(next !== undefined && { next_cursor: cursorAfter(next, cursorScope, keys()) }),
    }
    return await reply.send(body)
  })
}

function queryOf(request: FastifyRequest<{ Querystring: Query }>, { keys }: Pick<ApiPorts, 'keys'>): RenderQuery {
  const { status, engine, batch: text } = request.query
  const common = commonQueryOf(request)
  const batch = text === undefined ? undefined : verifyBatchId(text, common.scope, keys())
  if (text !== undefined && batch === undefined) throw unknownBatch()
  return {
    ...common,
    ...(batch !== undefined && { batch }),
    ...(status !== undefined && { status }),
    ...(engine !== undefined && { engine }),
  }
}

function unknownBatch(): ServiceError {
  return malformed([
    { in: 'query', path: 'batch', message: 'must be the id of a batch of this tenant and environment' },
  ])
}

function cursorScopeOf({ scope, status, template, engine, reference, batch, since, before }: RenderQuery): CursorScope {
  const filters = [status, template, engine, reference, since, before]
  return { scope, filters: batch === undefined ? filters : [...filters, batch] }
}

function entryOf(render: ListedRender): RenderPage['renders'][number] {
  const { id, template, engine, acceptedAt, state } = render
  return {
    render_id: id,
    template,
    engine,
    ...labelsOf(render),
    ...(render.batch !== undefined && { batch_id: render.batch }),
    status: state.status,
    created_at: timeOf(acceptedAt),
    ...('finishedAt' in state && { finished_at: timeOf(state.finishedAt) }),
    ...(state.status === 'succeeded' && { pdf_size_bytes: state.bytes }),
    ...(state.status === 'failed' && { error: { code: state.code, reason: state.code } }),
  }
}

function description(): object {
  return {
    operationId: 'listRenders',
    tags: ['render'],
    summary: 'List renders',
    description:
      'The renders of the tenant in the environment of the key that are still kept, the newest first. Filters apply together. A sync render is listed once it has ended.',
    security: KEY_REQUIRED,
    querystring: querySchema,
    response: {
      200: {
        description: 'One page. The last page has no `next_cursor`.',
        headers: COMMON_HEADERS,
        ...renderPageSchema,
        examples: [EXAMPLE],
      },
      ...refusals('listRenders'),
    },
  }
}

const EXAMPLE: RenderPage = {
  renders: [
    {
      render_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
      template: 'invoice',
      engine: 'react_pdf',
      reference: 'order-2026-0042',
      metadata: { customer: 'c-17' },
      status: 'succeeded',
      created_at: '2026-11-21T12:00:00.000Z',
      finished_at: '2026-11-21T12:00:00.412Z',
      pdf_size_bytes: 48_213,
    },
  ],
  next_cursor: 'AZqm8exVfw-IFPrdMn6zCJ8E5W1pXo2kR7sLq0aGbTQ',
}
