/**
 * The list of renders in Redis. Each account and environment has its own keys. They expire with their content, and their size has a bound.
 * A checkpoint says how far the list includes the event log: a list that is behind says so, and shows nothing.
 */

import { type Shown, STATUSES, type Status } from '@platen/contract/domain/render.ts'
import { type IdScope, issuedAt, type RenderId } from '@platen/contract/domain/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import { idRangeOf } from '@platen/contract/port/listed-render.ts'
import {
  type ListedRender,
  type ListedState,
  RenderListIncomplete,
  type RenderListView,
  type RenderQuery,
} from '@platen/contract/port/render-list.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { redisCheckpoints } from './checkpoint.ts'
import { gathered } from './connect/gather.ts'
import type { RedisConnection } from './connect.ts'
import { LIST_BYTES_MAX, LIST_REMOVED_KEPT_MS } from './limit.ts'
import { openScript } from './script.ts'

/** How far the list includes the event log. The key never expires: an installation has one. */
export const LIST_CHECKPOINT_KEY = 'platen:{list}'

const STATUS_LETTERS = { queued: 'q', running: 'r', succeeded: 's', failed: 'f' } as const satisfies Record<
  Status,
  string
>
const ENGINE_LETTERS = { react_pdf: 'p', html: 'h' } as const satisfies Record<Engine, string>

export interface RenderListOptions {
  /** Absent = the time of Redis. */
  readonly clock?: Clock
  /** Estimated bytes of the renders of an account and environment. Absent = `LIST_BYTES_MAX`. */
  readonly bytesMax?: number
}

/** A list in Redis of things that belong to renders, under the id of the render. */
interface RedisList {
  run(scope: IdScope, request: object, signal: AbortSignal): Promise<unknown>
  /** As `run`, for answers that need the complete list. Throws `RenderListIncomplete`. */
  ask(scope: IdScope, request: object, signal: AbortSignal): Promise<unknown>
  /** Converts each entry by `entryIn`. Throws `RenderListIncomplete`. */
  page<Entry>(scope: IdScope, page: ListPageRequest<Entry>, signal: AbortSignal): Promise<ListPage<Entry>>
}

interface ListPageRequest<Entry> {
  readonly request: object
  readonly entryIn: (entry: string) => Entry
}

interface ListPage<Entry> {
  readonly entries: readonly Entry[]
  readonly next?: RenderId
}

/** The keys begin with `name`. */
export function openRedisList(
  redis: RedisConnection,
  { clock, bytesMax = LIST_BYTES_MAX }: RenderListOptions,
  name: string,
): RedisList {
  const script = openScript(redis, { file: './render-list.lua', clock })
  const checkpoints = redisCheckpoints(redis, LIST_CHECKPOINT_KEY)
  const run: RedisList['run'] = ({ account, environment }, request, signal) => {
    const base = `platen:${name}:{${account}}:${environment}`
    const keys = [base, `${base}:index`, `${base}:removed`, `${base}:bytes`]
    return script.run({ keys, request: { ...request, bytesMax, keptMs: LIST_REMOVED_KEPT_MS } }, signal)
  }
  const ask: RedisList['ask'] = async (scope, request, signal) => {
    const [isComplete, answer] = await Promise.all([checkpoints.isComplete(signal), run(scope, request, signal)])
    if (!isComplete) throw new RenderListIncomplete('the list does not include all events yet')
    return answer
  }
  return {
    run,
    ask,
    async page(scope, { request, entryIn }, signal) {
      const found = await ask(scope, { operation: 'page', ...request }, signal)
      // Only the script answers, and it encodes an empty list as an object.
      const { entries, next } = found as { readonly entries: readonly string[] | object; readonly next?: RenderId }
      const page = { entries: Array.isArray(entries) ? entries.map(entryIn) : [] }
      return next === undefined ? page : { ...page, next }
    },
  }
}

export function redisRenderList(redis: RedisConnection, options: RenderListOptions = {}): RenderListView {
  const list = openRedisList(redis, options, 'list')
  const put = gathered({
    nameOf: ({ scope: { account, environment } }: Put) => `${account} ${environment}`,
    async call(puts, signal) {
      const listed = puts.map(({ render }) => entryOf(render))
      await list.run(puts[0].scope, { operation: 'put', listed }, signal)
    },
  })
  return {
    async count(scope, batch, signal) {
      // The script answers with the counts of these letters, in their order.
      const letters = STATUSES.map((status) => STATUS_LETTERS[status])
      const engines = ENGINES.map((engine) => ENGINE_LETTERS[engine])
      const counts = (await list.ask(scope, { operation: 'count', batch, letters, engines }, signal)) as number[]
      const [queued = 0, running = 0, succeeded = 0, failed = 0] = counts
      return { queued, running, succeeded, failed }
    },
    put: (scope, render, signal) => put({ scope, render }, signal),
    async cancel(scope, { id, finishedAt, expiresAt }, signal) {
      const fields = { x: expiresAt, f: finishedAt, c: 'canceled' } satisfies Partial<Fields>
      await list.run(scope, { operation: 'cancel', id, status: STATUS_LETTERS.failed, fields }, signal)
    },
    async remove(scope, id, signal) {
      await list.run(scope, { operation: 'remove', id }, signal)
    },
    async isSettled(scope, id, signal) {
      return (await list.run(scope, { operation: 'isSettled', id }, signal)) === true
    },
    async page(query, signal) {
      const { scope, limit, template, reference, batch } = query
      const request = { ...idRangeOf(query), limit, template, reference, batch, letters: lettersOf(query) }
      const { entries, ...next } = await list.page(scope, { request, entryIn: listedIn }, signal)
      return { renders: entries, ...next }
    },
  }
}

interface Put {
  readonly scope: IdScope
  readonly render: ListedRender
}

function entryOf(render: ListedRender): object {
  const { id, engine, state, expiresAt } = render
  const letters = { status: STATUS_LETTERS[state.status], engine: ENGINE_LETTERS[engine] }
  return { id, ...letters, expiresAt, fields: JSON.stringify(fieldsOf(render)) }
}

/** The pairs of status and engine that a query allows; undefined if it filters only by time. */
function lettersOf({ status, engine, ...named }: RenderQuery): readonly string[] | undefined {
  const names = [status, engine, named.template, named.reference, named.batch]
  if (names.every((name) => name === undefined)) return undefined
  return (status === undefined ? STATUSES : [status]).flatMap((one) =>
    (engine === undefined ? ENGINES : [engine]).map((other) => STATUS_LETTERS[one] + ENGINE_LETTERS[other]),
  )
}

/** The fields of an entry that the script reads. */
export interface ListFields {
  readonly t: TemplateCode
  readonly x: number
  readonly r?: Shown['reference']
  readonly g?: Shown['batch']
}

/** The fields of an entry besides id, status and engine. */
interface Fields extends ListFields {
  readonly f?: number
  readonly b?: number
  readonly c?: Extract<ListedState, { status: 'failed' }>['code']
  readonly m?: Shown['metadata']
}

function fieldsOf({ template, expiresAt, state, reference, metadata, batch }: ListedRender): Fields {
  const ended = 'finishedAt' in state ? { f: state.finishedAt } : {}
  const result = state.status === 'succeeded' ? { b: state.bytes } : state.status === 'failed' ? { c: state.code } : {}
  const labels = { ...(reference !== undefined && { r: reference }), ...(metadata !== undefined && { m: metadata }) }
  return { t: template, x: expiresAt, ...ended, ...result, ...labels, ...(batch !== undefined && { g: batch }) }
}

/** An entry begins with the id, a letter for the status and one for the engine; then comes JSON. */
export const ID_CHARS = 26

function listedIn(entry: string): ListedRender {
  // Only `put` writes entries.
  const id = entry.slice(0, ID_CHARS) as RenderId
  const [status = '', engine = ''] = entry.slice(ID_CHARS)
  const fields = JSON.parse(entry.slice(ID_CHARS + 2)) as Fields
  return {
    id,
    template: fields.t,
    engine: engine === ENGINE_LETTERS.html ? 'html' : 'react_pdf',
    acceptedAt: issuedAt(id),
    ...(fields.r !== undefined && { reference: fields.r }),
    ...(fields.m !== undefined && { metadata: fields.m }),
    ...(fields.g !== undefined && { batch: fields.g }),
    state: stateOf(status, fields),
    expiresAt: fields.x,
  }
}

function stateOf(letter: string, { f: finishedAt = 0, b: bytes = 0, c: code = 'internal' }: Fields): ListedState {
  if (letter === STATUS_LETTERS.succeeded) return { status: 'succeeded', finishedAt, bytes }
  if (letter === STATUS_LETTERS.failed) return { status: 'failed', finishedAt, code }
  return { status: letter === STATUS_LETTERS.running ? 'running' : 'queued' }
}
