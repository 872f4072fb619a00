import { QUEUE_AGE_MS_MAX } from '../domain/limit.ts'
import { type EndedRender, expiryOf, type Outcome, type RenderRecord, shownOf } from '../domain/render.ts'
import { leastIdSince } from '../domain/render-id.ts'
import type { ListedRender, ListedState, RenderQuery } from './render-list.ts'

/**
 * Of an accepted render that has not ended. It expires at the latest possible end, so that it is not listed for ever if its end never
 * arrives.
 */
export function listedOpen(record: RenderRecord, status: 'queued' | 'running'): ListedRender {
  return listed(record, { status }, expiryOf(record, record.acceptedAt + QUEUE_AGE_MS_MAX))
}

interface ListedEnd {
  readonly render: EndedRender
  readonly outcome: Outcome
}

export function listedEnded({ render, outcome }: ListedEnd): ListedRender {
  return listed(render, stateOf(outcome), expiryOf(render, outcome.finishedAt))
}

/** `from` is the lowest id that a query is about, `below` is above the highest. */
export function idRangeOf({ below, since, before }: Pick<RenderQuery, 'below' | 'since' | 'before'>): {
  readonly from: string
  readonly below: string
} {
  const end = before === undefined ? ABOVE_ALL : leastIdSince(before)
  return { from: leastIdSince(since ?? 0), below: below !== undefined && below < end ? below : end }
}

/** Above every id. */
const ABOVE_ALL = '8'

function listed(render: EndedRender, state: ListedState, expiresAt: number): ListedRender {
  const { id, template, engine, acceptedAt } = render
  return { id, template: template.code, engine, acceptedAt, ...shownOf(render), state, expiresAt }
}

function stateOf(outcome: Outcome): ListedState {
  const { status, finishedAt } = outcome
  if (status === 'failed') return { status, finishedAt, code: outcome.error.code }
  return { status, finishedAt, bytes: outcome.pdf.bytes }
}
