/** GET /renders: the caller's renders in its environment, the newest first, page by page. A list that may lack some is refused. */
import { ServiceError } from '@platen/contract/error.ts'
import { type ListedRender, RenderListIncomplete, type RenderQuery } from '@platen/contract/port/render-list.ts'
import { labelsOf, STATUSES, type Status } from '@platen/contract/render.ts'
import { verifyBatchId } from '@platen/contract/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import { referenceSchema, templateCodeSchema } from '@platen/contract/schema/render-request.ts'
import { type RenderPage, renderPageSchema } from '@platen/contract/schema/response.ts'
import type { TemplateCode } from '@platen/contract/tenant.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerOf, scopeOf } from '../../admission/authenticate.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { malformed } from '../../problem.ts'
import { timeOf } from '../get-render.ts'
import { LIST_PER_PAGE_DEFAULT, LIST_PER_PAGE_MAX, LIST_RETRY_AFTER_S } from '../limit.ts'
import { CURSOR_CHARS, type CursorScope, cursorAfter, readCursor } from './cursor.ts'

/** A time in a query. */
export const instant = { type: 'string', format: 'date-time' } as const

/** A cursor in a query. */
export const cursorSchema = {
  type: 'string',
  pattern: `^[A-Za-z0-9_-]{${CURSOR_CHARS}}$`,
  description: '`next_cursor` of the page before, with the same filters.',
} as const

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

interface Times {
  readonly created_after?: string
  readonly created_before?: string
}

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

/** What the lists of renders and of deliveries are both asked for. */
export interface CommonQuery extends Times {
  readonly limit?: number
  readonly cursor?: string
  readonly template?: TemplateCode
  readonly reference?: string
}

/** Throws `INVALID_PAYLOAD`. */
export function commonQueryOf(
  request: FastifyRequest<{ Querystring: CommonQuery }>,
): Omit<RenderQuery, 'status' | 'engine' | 'batch' | 'below'> {
  const { limit = LIST_PER_PAGE_DEFAULT, template, reference, ...times } = request.query
  const since = instantIn(times, 'created_after')
  const before = instantIn(times, 'created_before')
  return {
    scope: scopeOf(callerOf(request)),
    limit,
    ...(template !== undefined && { template }),
    ...(reference !== undefined && { reference }),
    ...(since !== undefined && { since }),
    ...(before !== undefined && { before }),
  }
}

function unknownBatch(): ServiceError {
  return malformed([
    { in: 'query', path: 'batch', message: 'must be the id of a batch of this tenant and environment' },
  ])
}

/** Throws `INVALID_PAYLOAD` for a time that the schema allows and no clock shows, such as a leap second. */
function instantIn(query: Times, name: keyof Times): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const instant = Date.parse(text)
  if (Number.isNaN(instant)) throw malformed([{ in: 'query', path: name, message: 'must be a time (RFC 3339)' }])
  return instant
}

function cursorScopeOf({ scope, status, template, engine, reference, batch, since, before }: RenderQuery): CursorScope {
  const filters = [status, template, engine, reference, since, before]
  return { scope, filters: batch === undefined ? filters : [...filters, batch] }
}

/** Throws `INVALID_PAYLOAD` for a cursor of another list. */
export function startOf(
  { cursor }: CommonQuery,
  cursorScope: CursorScope,
  { keys }: Pick<ApiPorts, 'keys'>,
): Pick<RenderQuery, 'below'> {
  if (cursor === undefined) return {}
  const below = readCursor(cursor, cursorScope, keys())
  if (below !== undefined) return { below }
  throw malformed([
    { in: 'query', path: 'cursor', message: 'is not a cursor of this list: send the filters of the page before' },
  ])
}

/** Throws the refusal of a list that may lack something. */
export function throwIncomplete(cause: unknown): never {
  if (!(cause instanceof RenderListIncomplete)) throw cause
  throw new ServiceError(
    'RENDER_UNAVAILABLE',
    'The list is being made and may lack something; try again shortly. Each render and delivery is found under its id.',
    { reason: 'list_incomplete', headers: { 'retry-after': `${LIST_RETRY_AFTER_S}` } },
  )
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
