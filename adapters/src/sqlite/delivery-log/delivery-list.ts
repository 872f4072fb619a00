/**
 * The list of deliveries of the embedded service: the rows of the delivery log. A query reads at most one range of an index for each status
 * that it allows, and merges them.
 */
import { DELIVERY_STATUSES } from '@platen/contract/domain/delivery.ts'
import type { DeliveryList, DeliveryQuery } from '@platen/contract/port/delivery-list.ts'
import { listedDelivery } from '@platen/contract/port/listed-delivery.ts'
import { idRangeOf } from '@platen/contract/port/listed-render.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Database } from '../database.ts'
import { DELIVERY_COLUMNS, recordIn } from './delivery-row.ts'

/** The delivery log in the same database writes the list. */
export function sqliteDeliveryList(database: Database, clock: Clock): DeliveryList {
  return {
    async page(query, signal) {
      const [rows = []] = await database.run([commandOf(query, clock.now())], signal)
      // Each row has what it is listed by, since the indexes contain no others.
      const deliveries = rows.slice(0, query.limit).flatMap((row) => listedDelivery(recordIn(row)) ?? [])
      const last = deliveries.at(-1)
      return rows.length > query.limit && last !== undefined ? { deliveries, next: last.render } : { deliveries }
    },
  }
}

/** Asks for one delivery more than the limit, to know whether there are more. */
function commandOf(query: DeliveryQuery, now: number) {
  const { scope, limit, status, template, reference } = query
  const { from, below } = idRangeOf(query)
  const { index, isPlain } = indexFor(query)
  const equal = Object.entries({ template, reference }).filter(([, value]) => value !== undefined)
  const fixed = [
    `scope = ?1 AND render >= ?2 AND render < ?3 AND delivery ->> '$.listed.expiresAt' > ?4`,
    ...equal.map(([column], at) => `${column} = ?${at + 6}`),
    ...(reference === undefined && template === undefined ? ['template IS NOT NULL'] : []),
  ].join(' AND ')
  // Only values of closed sets become part of the text.
  const conditions = (status === undefined ? DELIVERY_STATUSES : [status]).map(
    (one) => `${fixed} AND status = '${one}'`,
  )
  const ranges = (isPlain ? [fixed] : conditions).map(
    (condition) =>
      `SELECT * FROM (SELECT render, ${DELIVERY_COLUMNS} FROM delivery INDEXED BY ${index} WHERE ${condition} ORDER BY render DESC LIMIT ?5)`,
  )
  return {
    sql: `${ranges.join(' UNION ALL ')} ORDER BY render DESC LIMIT ?5`,
    values: [
      `${scope.account} ${scope.environment}`,
      from,
      below,
      now,
      limit + 1,
      ...equal.map(([, value = '']) => value),
    ],
  }
}

function indexFor({ status, template, reference }: DeliveryQuery): { index: string; isPlain?: true } {
  if (reference !== undefined) return { index: template === undefined ? 'delivery_by_reference' : 'delivery_by_both' }
  if (template !== undefined) return { index: 'delivery_by_template' }
  return status !== undefined ? { index: 'delivery_by_status' } : { index: 'delivery_listed', isPlain: true }
}
