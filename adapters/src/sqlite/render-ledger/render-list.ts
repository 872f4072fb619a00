/**
 * The list of renders of the embedded service: the rows of the ledger. A query reads at most one range of an index for each status and
 * engine that it allows, and merges them. So its time does not depend on how many renders it leaves out.
 */

import { type EndedRender, type Metadata, type Outcome, type Shown, STATUSES } from '@platen/contract/domain/render.ts'
import type { BatchId, IdScope, RenderId } from '@platen/contract/domain/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import { idRangeOf } from '@platen/contract/port/listed-render.ts'
import type { ListedRender, ListedState, RenderList, RenderQuery } from '@platen/contract/port/render-list.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Row } from '../connection.ts'
import { type Database, integerIn, textIn } from '../database.ts'

/** The columns of a render that only the list reads. */
export const LIST_COLUMNS = 'scope, engine, reference, metadata, batch'

type Values = readonly (string | null)[]

export function listedValues(render: EndedRender): Values {
  const { account, environment, engine, reference, metadata, batch } = render
  const scope = scopeText({ account, environment })
  return [scope, engine, reference ?? null, metadata === undefined ? null : JSON.stringify(metadata), batch ?? null]
}

/** For a render that is in no list. */
export function unlistedValues({ account, engine }: { readonly account?: string; readonly engine?: Engine }): Values {
  return [account === undefined ? null : unlistedScope(account), engine ?? null, null, null, null]
}

/** For renders of an account that are in no list, or were taken out of it. */
function unlistedScope(account: string): string {
  return `${account} unlisted`
}

/** SQL condition: was the render taken out of the list? */
export const IS_UNLISTED = `render.scope GLOB '* unlisted'`

export function scopesOf(account: string): string[] {
  const listed = (['live', 'test'] as const).map((environment) => scopeText({ account, environment }))
  return [...listed, unlistedScope(account)]
}

const COUNT = `SELECT status, count(*) AS renders FROM render INDEXED BY render_by_batch
  WHERE scope = ? AND batch = ? AND expires_at > ? GROUP BY status`
const REMOVE = `UPDATE render SET scope = ? WHERE id = ?`

/** The ledger in the same database writes the list. */
export function sqliteRenderList(database: Database, clock: Clock): RenderList {
  return {
    async remove({ account }, id, signal) {
      await database.run([{ sql: REMOVE, values: [unlistedScope(account), id] }], signal)
    },
    async count(scope, batch, signal) {
      const [rows = []] = await database.run([{ sql: COUNT, values: [scopeText(scope), batch, clock.now()] }], signal)
      const counts = rows.map((row) => [textIn(row, 'status'), integerIn(row, 'renders')])
      return { queued: 0, running: 0, succeeded: 0, failed: 0, ...Object.fromEntries(counts) }
    },
    async page(query, signal) {
      const [rows = []] = await database.run([commandOf(query, clock.now())], signal)
      const renders = rows.slice(0, query.limit).map(listedIn)
      const last = renders.at(-1)
      return rows.length > query.limit && last !== undefined ? { renders, next: last.id } : { renders }
    },
  }
}

const READ = 'id, template, engine, accepted_at, status, outcome, expires_at, reference, metadata, batch'

/** Asks for one render more than the limit, to know whether there are more. Each form of a query always has the same text. */
function commandOf(query: RenderQuery, now: number) {
  const { scope, limit, status, engine, template, reference, batch } = query
  const { from, below } = idRangeOf(query)
  const { index, isPlain } = indexFor(query)
  const equal = Object.entries({ template, reference, batch }).filter(([, value]) => value !== undefined)
  const fixed = [
    'scope = ?1 AND id >= ?2 AND id < ?3 AND expires_at > ?4',
    ...equal.map(([column], at) => `${column} = ?${at + 6}`),
  ].join(' AND ')
  const rangeOf = (condition: string) =>
    `SELECT * FROM (SELECT ${READ} FROM render INDEXED BY ${index} WHERE ${condition} ORDER BY id DESC LIMIT ?5)`
  // Only values of closed sets become part of the text.
  const conditions = (status === undefined ? STATUSES : [status]).flatMap((one) =>
    (engine === undefined ? ENGINES : [engine]).map(
      (other) => `${fixed} AND status = '${one}' AND engine = '${other}'`,
    ),
  )
  const ranges = (isPlain ? [fixed] : conditions).map(rangeOf)
  return {
    sql: `${ranges.join(' UNION ALL ')} ORDER BY id DESC LIMIT ?5`,
    values: [scopeText(scope), from, below, now, limit + 1, ...equal.map(([, value = '']) => value)],
  }
}

function indexFor({ status, engine, template, reference, batch }: RenderQuery): { index: string; isPlain?: true } {
  // A batch has few renders, so its index fits every query.
  if (batch !== undefined) return { index: 'render_by_batch' }
  if (reference !== undefined) return { index: template === undefined ? 'render_by_reference' : 'render_by_both' }
  if (template !== undefined) return { index: 'render_by_template' }
  if (status !== undefined || engine !== undefined) return { index: 'render_by_status' }
  return { index: 'render_listed', isPlain: true }
}

function scopeText({ account, environment }: IdScope): string {
  return `${account} ${environment}`
}

function listedIn(row: Row): ListedRender {
  return {
    // Only the ledger writes these columns, from a render.
    id: textIn(row, 'id') as RenderId,
    template: textIn(row, 'template') as TemplateCode,
    engine: textIn(row, 'engine') as Engine,
    acceptedAt: integerIn(row, 'accepted_at'),
    ...shownIn(row),
    state: stateIn(row),
    expiresAt: integerIn(row, 'expires_at'),
  }
}

export function shownIn({ reference, metadata, batch }: Row): Shown {
  return {
    ...(typeof reference === 'string' && { reference }),
    // Written by `listValuesOf`.
    ...(typeof metadata === 'string' && { metadata: JSON.parse(metadata) as Metadata }),
    ...(typeof batch === 'string' && { batch: batch as BatchId }),
  }
}

function stateIn(row: Row): ListedState {
  const { outcome, status } = row
  if (typeof outcome !== 'string') return { status: status === 'running' ? 'running' : 'queued' }
  const ended = JSON.parse(outcome) as Outcome
  const { finishedAt } = ended
  if (ended.status === 'failed') return { status: 'failed', finishedAt, code: ended.error.code }
  return { status: 'succeeded', finishedAt, bytes: ended.pdf.bytes }
}
