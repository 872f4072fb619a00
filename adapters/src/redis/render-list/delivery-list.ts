/** The list of deliveries in Redis: kept like the list of renders, and as complete. An entry has no URL and no answer. */
import { DELIVERY_STATUSES, type DeliveryStatus } from '@platen/contract/domain/delivery.ts'
import type { IdScope, RenderId } from '@platen/contract/domain/render-id.ts'
import type { DeliveryListView, DeliveryQuery, ListedDelivery } from '@platen/contract/port/delivery-list.ts'
import { idRangeOf } from '@platen/contract/port/listed-render.ts'
import type { RedisConnection } from '../connect.ts'
import { ID_CHARS, type ListFields, openRedisList, type RenderListOptions } from '../render-list.ts'

const STATUS_LETTERS = {
  scheduled: 'w',
  delivered: 'd',
  exhausted: 'x',
  gone: 'g',
  blocked: 'b',
} as const satisfies Record<DeliveryStatus, string>

/** In place of an engine: deliveries have no filter by engine. */
const NO_ENGINE = '-'

export function redisDeliveryList(redis: RedisConnection, options: RenderListOptions = {}): DeliveryListView {
  const list = openRedisList(redis, options, 'deliveries')
  const show = async (
    operation: string,
    [scope, delivery]: readonly [IdScope, ListedDelivery],
    signal: AbortSignal,
  ) => {
    const { render: id, status, expiresAt } = delivery
    const letters = { status: STATUS_LETTERS[status], engine: NO_ENGINE }
    const entry = { id, ...letters, expiresAt, fields: JSON.stringify(fieldsOf(delivery)) }
    await list.run(scope, { operation, listed: [entry] }, signal)
  }
  return {
    put: (scope, delivery, signal) => show('replace', [scope, delivery], signal),
    add: (scope, delivery, signal) => show('put', [scope, delivery], signal),
    async isSettled(scope, id, signal) {
      return (await list.run(scope, { operation: 'isSettled', id }, signal)) === true
    },
    async remove(scope, id, signal) {
      await list.run(scope, { operation: 'remove', id }, signal)
    },
    async page(query, signal) {
      const { scope, limit, template, reference } = query
      const request = { ...idRangeOf(query), limit, template, reference, letters: lettersOf(query) }
      const { entries, ...next } = await list.page(scope, { request, entryIn: listedIn }, signal)
      return { deliveries: entries, ...next }
    },
  }
}

/** The letters of the index that a query allows; undefined if it filters only by time. */
function lettersOf({ status, template, reference }: DeliveryQuery): readonly string[] | undefined {
  if (status !== undefined) return [STATUS_LETTERS[status] + NO_ENGINE]
  if (template === undefined && reference === undefined) return undefined
  return Object.values(STATUS_LETTERS).map((letter) => letter + NO_ENGINE)
}

/** The fields of an entry besides the id of its render and its status. */
interface Fields extends ListFields {
  readonly d: string
  readonly e: ListedDelivery['event']
  readonly c: number
  readonly a?: ListedDelivery['lastAttempt']
}

function fieldsOf({ id, event, template, reference, createdAt, lastAttempt, expiresAt }: ListedDelivery): Fields {
  return {
    t: template,
    x: expiresAt,
    d: id,
    e: event,
    c: createdAt,
    ...(reference !== undefined && { r: reference }),
    ...(lastAttempt !== undefined && { a: lastAttempt }),
  }
}

function listedIn(entry: string): ListedDelivery {
  // Only `show` writes entries.
  const { t, x, r, d, e, c, a } = JSON.parse(entry.slice(ID_CHARS + 2)) as Fields
  return {
    id: d,
    event: e,
    render: entry.slice(0, ID_CHARS) as RenderId,
    template: t,
    ...(r !== undefined && { reference: r }),
    status: statusOf(entry.charAt(ID_CHARS)),
    createdAt: c,
    ...(a !== undefined && { lastAttempt: a }),
    expiresAt: x,
  }
}

function statusOf(letter: string): DeliveryStatus {
  return DELIVERY_STATUSES.find((status) => STATUS_LETTERS[status] === letter) ?? 'scheduled'
}
