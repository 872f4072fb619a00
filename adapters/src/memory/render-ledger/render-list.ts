/** The list of renders in memory, without a bound: for unit tests. */

import { canTransition, isTerminal, shownOf } from '@platen/contract/domain/render.ts'
import type { IdScope, RenderId } from '@platen/contract/domain/render-id.ts'
import { idRangeOf } from '@platen/contract/port/listed-render.ts'
import type { ListedRender, RenderListView, RenderQuery } from '@platen/contract/port/render-list.ts'
import type { Clock } from '@platen/lib/clock.ts'

/** Never forgets that a render was removed. */
export function memoryRenderList(clock: Clock): RenderListView {
  const scopes = new Map<string, Map<RenderId, ListedRender | 'removed'>>()
  const rendersOf = ({ account, environment }: IdScope) => {
    const renders = scopes.get(`${account} ${environment}`) ?? new Map<RenderId, ListedRender | 'removed'>()
    scopes.set(`${account} ${environment}`, renders)
    return renders
  }
  return {
    async put(scope, render, signal) {
      signal.throwIfAborted()
      const known = rendersOf(scope).get(render.id)
      if (known === 'removed') return
      const { status } = render.state
      if (known !== undefined && (status === known.state.status || !canTransition(known.state.status, status))) return
      const shown = known === undefined || isTerminal(status) ? {} : shownOf(known)
      rendersOf(scope).set(render.id, { ...render, ...shown })
    },
    async cancel(scope, { id, finishedAt, expiresAt }, signal) {
      signal.throwIfAborted()
      const known = rendersOf(scope).get(id)
      if (known === undefined || known === 'removed' || isTerminal(known.state.status)) return
      const state = { status: 'failed', finishedAt, code: 'canceled' } as const
      rendersOf(scope).set(id, { ...known, state, expiresAt })
    },
    async remove(scope, id, signal) {
      signal.throwIfAborted()
      rendersOf(scope).set(id, 'removed')
    },
    async isSettled(scope, id, signal) {
      signal.throwIfAborted()
      const known = rendersOf(scope).get(id)
      return known === 'removed' || (known !== undefined && isTerminal(known.state.status))
    },
    async count(scope, batch, signal) {
      signal.throwIfAborted()
      const counts = { queued: 0, running: 0, succeeded: 0, failed: 0 }
      for (const render of rendersOf(scope).values()) {
        if (render !== 'removed' && render.batch === batch && render.expiresAt > clock.now())
          counts[render.state.status] += 1
      }
      return counts
    },
    async page(query, signal) {
      signal.throwIfAborted()
      const { from, below } = idRangeOf(query)
      const found = [...rendersOf(query.scope).values()]
        .flatMap((render) => (render === 'removed' ? [] : [render]))
        .filter((render) => render.expiresAt > clock.now() && isMeant(render, query))
        .filter(({ id }) => id >= from && id < below)
        .toSorted((a, b) => (a.id < b.id ? 1 : -1))
      const renders = found.slice(0, query.limit)
      const last = renders.at(-1)
      return found.length > renders.length && last !== undefined ? { renders, next: last.id } : { renders }
    },
  }
}

function isMeant({ state, template, engine, reference, batch }: ListedRender, query: RenderQuery): boolean {
  return (
    state.status === (query.status ?? state.status) &&
    template === (query.template ?? template) &&
    engine === (query.engine ?? engine) &&
    reference === (query.reference ?? reference) &&
    batch === (query.batch ?? batch)
  )
}
