/** A route that lists renders, or their deliveries, newest first, page by page. Refuses while the list may be incomplete. */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import { RenderListIncomplete, type RenderQuery } from '@platen/contract/port/render-list.ts'
import { referenceSchema, templateCodeSchema } from '@platen/contract/schema/render-request.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerOf, scopeOf } from '../../admission/authenticate.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { malformed } from '../../problem.ts'
import { LIST_PER_PAGE_DEFAULT, LIST_PER_PAGE_MAX } from '../limit.ts'
import { CURSOR_CHARS, type CursorScope, cursorAfter, readCursor } from './cursor.ts'

/** `Retry-After` in seconds while the list of renders is being built: that takes seconds, or minutes after a loss of Redis. */
const LIST_RETRY_AFTER_S = 5

/** The specific parts of a list. `Query` is what callers send, `Filters` what the port gets. */
interface ListRoute<Query extends CommonQuery, Filters extends object> {
  readonly path: string
  readonly operation: {
    readonly operationId: 'listRenders' | 'listAllDeliveries'
    readonly tags: readonly string[]
    readonly summary: string
    readonly description: string
  }
  /** Words for the texts of the common parameters: the entries, what has their reference, and what was accepted. */
  readonly words: { readonly entries: string; readonly source: string; readonly accepted: string }
  readonly filters: Readonly<Record<keyof Omit<Query, keyof CommonQuery>, object>>
  /** Throws `INVALID_PAYLOAD`. */
  filtersOf(query: Query, asked: CommonFilters): Filters
  /** All filters, in an order that is always the same and that no other list has. */
  cursorOf(query: CommonFilters & Filters): CursorScope['filters']
  /** `body` uses the names of the wire. `next` is where the page ended. */
  page(query: PageQuery & Filters, signal: AbortSignal): Promise<{ readonly body: object; readonly next?: RenderId }>
  readonly answer: object
}

type CommonFilters = Pick<RenderQuery, 'scope' | 'limit' | 'template' | 'reference' | 'since' | 'before'>
type PageQuery = CommonFilters & Pick<RenderQuery, 'below'>

export function listRoute<Query extends CommonQuery, Filters extends object>(
  app: FastifyInstance,
  ports: ApiPorts,
  list: ListRoute<Query, Filters>,
): void {
  const { clock, keys } = ports
  app.get<{ Querystring: CommonQuery }>(list.path, { schema: description(list) }, async (request, reply) => {
    const common = commonFiltersOf(request)
    // The schema includes the filters of the list.
    const asked = { ...common, ...list.filtersOf(request.query as Query, common) }
    const cursorScope = { scope: asked.scope, filters: list.cursorOf(asked) }
    const query = { ...asked, ...startOf(request.query, cursorScope, ports) }
    const { body, next } = await list.page(query, clock.timeout(PORT_CALL_MS_MAX)).catch(throwIncomplete)
    const more = next !== undefined && { next_cursor: cursorAfter(next, cursorScope, keys()) }
    return await reply.send({ ...body, ...more })
  })
}

function description<Query extends CommonQuery, Filters extends object>(list: ListRoute<Query, Filters>): object {
  const { entries, source, accepted } = list.words
  const instant = { type: 'string', format: 'date-time' }
  return {
    ...list.operation,
    security: KEY_REQUIRED,
    querystring: {
      type: 'object',
      // A filter with a typing error would list everything.
      additionalProperties: false,
      properties: {
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: LIST_PER_PAGE_MAX,
          default: LIST_PER_PAGE_DEFAULT,
          description: `${entries} on a page, at most. A page may have fewer, also if there are more.`,
        },
        cursor: {
          type: 'string',
          pattern: `^[A-Za-z0-9_-]{${CURSOR_CHARS}}$`,
          description: '`next_cursor` of the page before, with the same filters.',
        },
        template: templateCodeSchema,
        reference: {
          ...referenceSchema,
          description: `\`reference\` of the ${source}: the whole of it, as it was sent.`,
        },
        ...list.filters,
        created_after: { ...instant, description: `${accepted} accepted at this time (RFC 3339) or later.` },
        created_before: { ...instant, description: `${accepted} accepted before this time (RFC 3339).` },
      },
    },
    response: {
      200: { description: 'One page. The last page has no `next_cursor`.', headers: COMMON_HEADERS, ...list.answer },
      ...refusals(list.operation.operationId),
    },
  }
}

interface Times {
  readonly created_after?: string
  readonly created_before?: string
}

export interface CommonQuery extends Times {
  readonly limit?: number
  readonly cursor?: string
  readonly template?: TemplateCode
  readonly reference?: string
}

function commonFiltersOf(request: FastifyRequest<{ Querystring: CommonQuery }>): CommonFilters {
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

/** Throws `INVALID_PAYLOAD` for a time that the schema allows and no clock shows, such as a leap second. */
function instantIn(query: Times, name: keyof Times): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const instant = Date.parse(text)
  if (Number.isNaN(instant)) throw malformed([{ in: 'query', path: name, message: 'must be a time (RFC 3339)' }])
  return instant
}

/** Throws `INVALID_PAYLOAD` for a cursor of another list. */
function startOf(
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

export function throwIncomplete(cause: unknown): never {
  if (!(cause instanceof RenderListIncomplete)) throw cause
  throw new ServiceError(
    'RENDER_UNAVAILABLE',
    'The list is being made and may lack something; try again shortly. Each render and delivery is found under its id.',
    { reason: 'list_incomplete', headers: { 'retry-after': `${LIST_RETRY_AFTER_S}` } },
  )
}
