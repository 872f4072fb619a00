/** What the lists of renders and of deliveries have in common: their filters, their pages, and the refusal of a list that is incomplete. */
import { ServiceError } from '@platen/contract/error.ts'
import { RenderListIncomplete, type RenderQuery } from '@platen/contract/port/render-list.ts'
import type { TemplateCode } from '@platen/contract/tenant.ts'
import type { FastifyRequest } from 'fastify'
import { callerOf, scopeOf } from '../../admission/authenticate.ts'
import type { ApiPorts } from '../../ports.ts'
import { malformed } from '../../problem.ts'
import { LIST_PER_PAGE_DEFAULT, LIST_RETRY_AFTER_S } from '../limit.ts'
import { CURSOR_CHARS, type CursorScope, readCursor } from './cursor.ts'

/** A time in a query. */
export const instant = { type: 'string', format: 'date-time' } as const

/** A cursor in a query. */
export const cursorSchema = {
  type: 'string',
  pattern: `^[A-Za-z0-9_-]{${CURSOR_CHARS}}$`,
  description: '`next_cursor` of the page before, with the same filters.',
} as const

interface Times {
  readonly created_after?: string
  readonly created_before?: string
}

/** What both lists are asked for. */
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

/** Throws `INVALID_PAYLOAD` for a time that the schema allows and no clock shows, such as a leap second. */
function instantIn(query: Times, name: keyof Times): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const instant = Date.parse(text)
  if (Number.isNaN(instant)) throw malformed([{ in: 'query', path: name, message: 'must be a time (RFC 3339)' }])
  return instant
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
