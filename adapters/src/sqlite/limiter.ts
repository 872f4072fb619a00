/**
 * The limiter of the embedded service. One process decides, so memory is authoritative and no decision waits for a disk. The database keeps
 * what must survive the process: a row for each charge, from which a trigger makes the sums, and the queue, whose records are the
 * reservations.
 */

import { monthOf } from '@platen/contract/domain/render.ts'
import { type ChargeSum, chargeOf } from '@platen/contract/port/charge-sums.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import { type LimiterState, openLimiterState } from '@platen/contract/port/limiter-state.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'
import type { Row } from './connection.ts'
import { type Database, integerIn, prune, textIn } from './database.ts'

const CHARGED = `SELECT account, period, kind, name, renders, units FROM charge_sum`
/** Leaves out the data of the records. A render that is already charged only waits for its `done`. */
const QUEUED = `SELECT json_object('id', id, 'account', record -> '$.account', 'engine', engine, 'mode', record -> '$.mode',
  'batch', record -> '$.batch', 'units', record -> '$.units', 'period', record -> '$.period') AS record FROM queue
  WHERE id NOT IN (SELECT id FROM charge) ORDER BY sequence`
const CHARGE = `INSERT INTO charge (id, account, period, units, dated, template, day) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING RETURNING id`
const PRUNE = `DELETE FROM charge WHERE id IN (SELECT id FROM charge WHERE dated < ? LIMIT ?) RETURNING id`
const PRUNE_SUMS = `DELETE FROM charge_sum WHERE (account, period, kind, name) IN (
    SELECT account, period, kind, name FROM charge_sum WHERE period < ? LIMIT ?) RETURNING period`

interface SqliteLimiter extends Limiter {
  /** Removes the charges of renders that ended before `before`, in months that are over. Safe to interrupt. */
  prune(before: Instant, signal: AbortSignal): Promise<void>
}

/** Loads charges and queued renders from the database. One limiter per database, opened before the first reservation. */
export async function openSqliteLimiter(database: Database, clock: Clock, signal: AbortSignal): Promise<SqliteLimiter> {
  const [charged = [], queued = []] = await database.run([{ sql: CHARGED }, { sql: QUEUED }], signal)
  const state = openLimiterState(charged.map(sumIn))
  for (const row of queued) state.confirm(queuedIn(row), clock.now())
  return {
    async reserve(request, signal) {
      signal.throwIfAborted()
      return state.reserve(request, clock.now())
    },
    async confirm(record, signal) {
      signal.throwIfAborted()
      state.confirm(record, clock.now())
    },
    async complete(end, signal) {
      signal.throwIfAborted()
      const { render, outcome } = end
      const charge = chargeOf(end)
      if (charge === undefined) return state.complete(end, undefined)
      const { account, period, units, template, day } = charge
      const values = [render.id, account, period, units, outcome.finishedAt, template, day]
      const charging = async () => {
        const [charged = []] = await database.run([{ sql: CHARGE, values }])
        // A render that ended before the last start was charged then, and is already counted.
        state.complete(end, charged.length > 0 ? charge : undefined)
      }
      // A caller that stops waiting does not stop the charge. No second call would count it, so memory must follow the disk.
      await raceAbort(charging(), signal)
    },
    async usage(account, period, signal) {
      signal.throwIfAborted()
      return state.usage(account, period, clock.now())
    },
    async report(query, signal) {
      signal.throwIfAborted()
      return state.report(query, clock.now())
    },
    async prune(before, signal) {
      await prune(database, { sql: PRUNE, before }, signal)
      await prune(database, { sql: PRUNE_SUMS, before: monthOf(before) }, signal)
    },
  }
}

function sumIn(row: Row): ChargeSum {
  return {
    account: textIn(row, 'account'),
    period: textIn(row, 'period'),
    // The table constrains the column.
    kind: textIn(row, 'kind') as ChargeSum['kind'],
    name: textIn(row, 'name'),
    renders: integerIn(row, 'renders'),
    units: integerIn(row, 'units'),
  }
}

/** The query returns null for a record without a batch. */
function queuedIn(row: Row): Parameters<LimiterState['confirm']>[0] {
  const { batch, ...record } = JSON.parse(textIn(row, 'record'))
  return batch === null ? record : { batch, ...record }
}
