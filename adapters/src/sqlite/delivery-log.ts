import { WEBHOOK_ATTEMPTS_KEPT_MAX, WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/domain/limit.ts'
import type { DeliveryLog, DueDelivery, NextStatus } from '@platen/contract/port/delivery-log.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'
import { raceAbort, raceFirst } from '@platen/lib/race.ts'
import type { Command, Row } from './connection.ts'
import { type Database, integerIn, textIn } from './database.ts'
import { DELIVERY_COLUMNS, recordIn } from './delivery-log/delivery-row.ts'
import { NewDeliveries } from './delivery-log/new-deliveries.ts'

/** Due deliveries fetched at a time: a busy log is asked rarely, and few are held compared with those that wait in memory. */
const WEBHOOK_DUE_PREFETCH = 256

const RELEASE_ALL = `UPDATE delivery SET taken = 0 WHERE next_at IS NOT NULL AND taken = 1`
const TAKE = `UPDATE delivery SET taken = 1 WHERE id IN (
    SELECT id FROM delivery WHERE next_at IS NOT NULL AND taken = 0 AND next_at <= ? ORDER BY next_at LIMIT ?)
  RETURNING id, delivery, attempts, asked, next_at`
const GIVE_BACK = `UPDATE delivery SET taken = 0 WHERE id IN (SELECT value FROM json_each(?))`
const NEXT = `SELECT min(next_at) AS at FROM delivery WHERE next_at IS NOT NULL AND taken = 0`
/** Parameter 2 is 1 for a requested attempt, which uses up one request, and 0 for an attempt of the schedule. */
const RECORDED = `UPDATE delivery SET attempts = attempts + (?2 = 0), asked = asked - ?2, taken = 0,
  calls = json_insert(iif(json_array_length(calls) < ${WEBHOOK_ATTEMPTS_KEPT_MAX}, calls, json_remove(calls, '$[0]')), '$[#]', json(?3))`
const RECORD = `${RECORDED}, status = ?5, due_at = ?6, reason = ?7, next_at = iif(asked > ?2, ?4, ?6) WHERE id = ?1 RETURNING next_at`
const RECORD_UNCHANGED = `${RECORDED}, next_at = iif(asked > ?2, ?4, due_at) WHERE id = ?1 RETURNING next_at`
const DEFER = `UPDATE delivery SET taken = 0, next_at = ?2, reason = coalesce(?3, reason) WHERE id = ?1 RETURNING next_at`
const REDELIVER = `UPDATE delivery SET asked = asked + 1, next_at = min(coalesce(next_at, ?2), ?2) WHERE id = ?1 AND asked < ?3
  RETURNING next_at`
const COLUMNS = `SELECT ${DELIVERY_COLUMNS} FROM delivery`
const FIND = `${COLUMNS} WHERE id = ?`
const OF_RENDER = `${COLUMNS} WHERE render = ? ORDER BY id`
const FORGET = `DELETE FROM delivery WHERE render = ?`

interface DeliveryLogOptions {
  readonly clock: Clock
  /** Limits the wait for a first attempt; by default the same clock. */
  readonly timer?: Pick<Clock, 'monotonic' | 'sleep'>
}

/** One log per database, since only it wakes its consumer. Releases deliveries that the last process had in hand. */
export async function openSqliteDeliveryLog(
  database: Database,
  { clock, timer = clock }: DeliveryLogOptions,
  signal: AbortSignal,
): Promise<DeliveryLog> {
  await database.run([{ sql: RELEASE_ALL }], signal)
  const work: Work = { changed: openNotifier(), mayBeDue: false }

  /** Wakes the consumer when the write schedules a delivery, even if the caller stops waiting first. */
  const write = async (command: Command) => {
    const answers = await database.run(command)
    if (answers.some((rows) => rows.some(({ next_at: at }) => at !== null))) {
      work.mayBeDue = true
      work.changed.notify()
    }
    return answers
  }
  const fresh = new NewDeliveries({ database, clock, timer, write, onNew: () => work.changed.notify() })

  return {
    consume: (signal) => consume({ database, clock, work, write, fresh }, signal),
    async schedule(deliveries, signal) {
      signal.throwIfAborted()
      await raceAbort(fresh.schedule(deliveries), signal)
    },
    async find(id, signal) {
      await raceAbort(fresh.known(id), signal)
      const [[row] = []] = await database.run([{ sql: FIND, values: [id] }], signal)
      return row === undefined ? undefined : recordIn(row)
    },
    async listByRender(render, signal) {
      await raceAbort(fresh.knownOf(render), signal)
      const [rows = []] = await database.run([{ sql: OF_RENDER, values: [render] }], signal)
      return rows.map(recordIn)
    },
    async redeliver(id, signal) {
      await raceAbort(fresh.known(id), signal)
      const values = [id, clock.now(), WEBHOOK_REDELIVERIES_MAX]
      const [rows = []] = await raceAbort(write([{ sql: REDELIVER, values }]), signal)
      return rows.length > 0
    },
    async forget(render, signal) {
      fresh.forget(render)
      await database.run([{ sql: FORGET, values: [render] }], signal)
    },
  }
}

interface Work {
  /** Notified when there is a new delivery, or one may have become due. */
  readonly changed: Notifier
  /** True when a delivery in the table may have become due since the consumer last looked. */
  mayBeDue: boolean
}

interface Consumption {
  readonly database: Database
  readonly clock: Clock
  readonly work: Work
  /** Runs a command whose rows contain the next due time of a delivery. */
  readonly write: (command: Command) => Promise<readonly (readonly Row[])[]>
  readonly fresh: NewDeliveries
}

async function* consume(consumption: Consumption, signal: AbortSignal): AsyncGenerator<DueDelivery> {
  const { database, clock, work, fresh } = consumption
  let atHand: Row[] = []
  /** When the next delivery in the table is due. */
  let nextAt: Instant | undefined = clock.now()
  fresh.setConsumed(true)
  try {
    for (;;) {
      signal.throwIfAborted()
      const due = fresh.next() ?? dueOf(atHand.shift(), consumption)
      if (due !== undefined) {
        yield due
      } else if (work.mayBeDue || (nextAt !== undefined && nextAt <= clock.now())) {
        work.mayBeDue = false
        const take = { sql: TAKE, values: [clock.now(), WEBHOOK_DUE_PREFETCH] }
        const [rows = [], [next] = []] = await database.run([take, { sql: NEXT }], signal)
        // UPDATE returns rows in no particular order.
        atHand = rows.toSorted((one, other) => integerIn(one, 'next_at') - integerIn(other, 'next_at'))
        nextAt = typeof next?.['at'] === 'number' ? next['at'] : undefined
      } else {
        await somethingDue(nextAt, consumption, signal)
      }
    }
  } catch (cause) {
    // An aborted signal ends consuming normally; everything else is an error.
    if (!signal.aborted) throw cause
  } finally {
    fresh.setConsumed(false)
    const left = atHand.map((row) => textIn(row, 'id'))
    if (left.length > 0) await database.run([{ sql: GIVE_BACK, values: [JSON.stringify(left)] }])
  }
}

/** Resolves when the next delivery is due, or when something has changed. */
async function somethingDue(
  nextAt: Instant | undefined,
  { clock, work: { changed } }: Consumption,
  signal: AbortSignal,
): Promise<void> {
  if (nextAt === undefined) return await changed.wait(signal)
  await raceFirst([(over) => changed.wait(over), (over) => clock.sleep(nextAt - clock.now(), over)], signal)
}

function dueOf(row: Row | undefined, { write, clock }: Consumption): DueDelivery | undefined {
  if (row === undefined) return undefined
  const delivery: DueDelivery['delivery'] = JSON.parse(textIn(row, 'delivery'))
  const { id } = delivery
  const isRedelivery = integerIn(row, 'asked') > 0
  return {
    delivery,
    attempts: integerIn(row, 'attempts'),
    isRedelivery,
    dueAt: integerIn(row, 'next_at'),
    async record(attempt, next) {
      const now = clock.now()
      const counted = [id, isRedelivery ? 1 : 0, JSON.stringify(attempt), now]
      const follows = next === undefined ? [] : [next.status, dueAtOf(next, now), reasonOf(next)]
      await write([{ sql: next === undefined ? RECORD_UNCHANGED : RECORD, values: [...counted, ...follows] }])
    },
    async defer(waitMs, reason) {
      await write([{ sql: DEFER, values: [id, clock.now() + waitMs, reason ?? null] }])
    },
  }
}

function dueAtOf(next: NextStatus, now: Instant): Instant | null {
  return next.status === 'scheduled' ? now + next.waitMs : null
}

function reasonOf(next: NextStatus): string | null {
  return next.status === 'scheduled' ? null : (next.reason ?? null)
}
