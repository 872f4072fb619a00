/** The list of deliveries in memory, without a bound: for unit tests. */

import type { IdScope, RenderId } from '@platen/contract/domain/render-id.ts'
import type { DeliveryListView, DeliveryQuery, ListedDelivery } from '@platen/contract/port/delivery-list.ts'
import { idRangeOf } from '@platen/contract/port/listed-render.ts'
import type { Clock } from '@platen/lib/clock.ts'

/** Never forgets that a delivery was removed. */
export function memoryDeliveryList(clock: Clock): DeliveryListView {
  const scopes = new Map<string, Map<RenderId, ListedDelivery | 'removed'>>()
  const shownIn = ({ account, environment }: IdScope) => {
    const shown = scopes.get(`${account} ${environment}`) ?? new Map<RenderId, ListedDelivery | 'removed'>()
    scopes.set(`${account} ${environment}`, shown)
    return shown
  }
  return {
    async put(scope, delivery, signal) {
      signal.throwIfAborted()
      if (shownIn(scope).get(delivery.render) !== 'removed') shownIn(scope).set(delivery.render, delivery)
    },
    async add(scope, delivery, signal) {
      signal.throwIfAborted()
      if (!shownIn(scope).has(delivery.render)) shownIn(scope).set(delivery.render, delivery)
    },
    async isSettled(scope, render, signal) {
      signal.throwIfAborted()
      return shownIn(scope).has(render)
    },
    async remove(scope, render, signal) {
      signal.throwIfAborted()
      shownIn(scope).set(render, 'removed')
    },
    async page(query, signal) {
      signal.throwIfAborted()
      const { from, below } = idRangeOf(query)
      const found = [...shownIn(query.scope).values()]
        .flatMap((delivery) => (delivery === 'removed' ? [] : [delivery]))
        .filter((delivery) => delivery.expiresAt > clock.now() && isMeant(delivery, query))
        .filter(({ render }) => render >= from && render < below)
        .toSorted((a, b) => (a.render < b.render ? 1 : -1))
      const deliveries = found.slice(0, query.limit)
      const last = deliveries.at(-1)
      return found.length > deliveries.length && last !== undefined ? { deliveries, next: last.render } : { deliveries }
    },
  }
}

function isMeant({ status, template, reference }: ListedDelivery, query: DeliveryQuery): boolean {
  return (
    status === (query.status ?? status) &&
    template === (query.template ?? template) &&
    reference === (query.reference ?? reference)
  )
}
