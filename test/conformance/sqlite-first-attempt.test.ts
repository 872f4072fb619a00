/** Tests deliveries in SQLite that are attempted before they are stored: none is lost, and a receiver that answers at once costs one row. */

import type { Database } from '@platen/adapters/sqlite/database.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import type { Delivery } from '@platen/contract/domain/delivery.ts'
import { FIRST_ATTEMPT_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { DeliveryLog, DueDelivery } from '@platen/contract/port/delivery-log.ts'
import { FIRST_ATTEMPTS_PER_TENANT_MAX } from '@platen/contract/port/first-attempt.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { assert, beforeEach, expect, test } from 'vitest'
import { aDelivery, NEVER, NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'
import { FAILED, OK, take } from './delivery-log.suite.ts'
import { type Harness, sqliteHarness } from './harness.ts'

const DELIVERED = { status: 'delivered' } as const
const NEXT = { status: 'scheduled', waitMs: 1000 } as const

let clock: ManualClock
let harness: Harness<DeliveryLog>
let log: DeliveryLog
/** The statements that have changed something since a test emptied it. */
let writes: string[]
let isDiskFull: boolean
/** By it the time passes for which first attempts are waited for. */
let timer: ManualClock

beforeEach(async () => {
  clock = manualClock(NOON)
  writes = []
  isDiskFull = false
  timer = manualClock()
  harness = ofTest(await sqliteHarness((database) => openSqliteDeliveryLog(watched(database), { clock, timer }, NEVER)))
  log = await harness.open()
})

function watched(database: Database): Database {
  return {
    ...database,
    async run(command, signal) {
      const changes = command.filter(({ sql }) => !sql.startsWith('SELECT'))
      if (isDiskFull && changes.length > 0) throw new Unavailable('the disk of the database is full')
      writes.push(...changes.map(({ sql }) => sql))
      return await database.run(command, signal)
    },
  }
}

/** Schedules a delivery while there is a consumer that waits, and begins its first attempt. */
async function beginFirst(signal: AbortSignal, delivery = aDelivery({ id: 'a' })) {
  const taking = take(log, signal)
  const scheduling = log.schedule([delivery], signal)
  // The test handles its rejection.
  scheduling.catch(() => undefined)
  return { due: await taking, scheduling }
}

/** Schedules a delivery again, with another one after it. Expects that only the other one is given out. */
async function scheduleAgain(delivery: Delivery, signal: AbortSignal): Promise<void> {
  const [marker, taking] = [aDelivery(), take(log, signal)]
  const again = log.schedule([delivery, marker], signal)
  const next = await taking
  expect(next.delivery.id).toBe(marker.id)
  await next.record(OK, DELIVERED)
  await again
}

/** Expects that nothing is due: a delivery scheduled now is the next one. */
async function expectNone(signal: AbortSignal): Promise<void> {
  const marker = aDelivery()
  await log.schedule([marker], signal)
  const due = await take(log, signal)
  expect(due.delivery.id).toBe(marker.id)
  await due.record(OK, DELIVERED)
}

test('writes one row, with the result', async ({ signal }) => {
  // The consumer looks for due deliveries when it begins.
  const { due, scheduling } = await beginFirst(signal)
  expect(due).toMatchObject({ attempts: 0, isRedelivery: false, dueAt: NOON, delivery: { id: 'a' } })
  writes = []
  await due.record(OK, DELIVERED)
  await scheduling
  expect(writes).toEqual([expect.stringMatching(/^INSERT INTO delivery /)])
  expect(await log.find('a', signal)).toStrictEqual({ delivery: due.delivery, ...DELIVERED, attempts: [OK] })
  await expectNone(signal)
})

test('makes the next attempt when the first fails', async ({ signal }) => {
  const { due, scheduling } = await beginFirst(signal)
  await due.record(FAILED, NEXT)
  await scheduling
  expect(await log.find('a', signal)).toMatchObject({ dueAt: NOON + NEXT.waitMs, attempts: [FAILED] })
  await expectNone(signal)
  await clock.advance(NEXT.waitMs)
  expect(await take(log, signal)).toMatchObject({ attempts: 1, delivery: { id: 'a' } })
})

test('puts off one that was not attempted', async ({ signal }) => {
  const { due, scheduling } = await beginFirst(signal)
  await due.defer(NEXT.waitMs, 'no secret')
  await scheduling
  const dueAt = NOON + NEXT.waitMs
  expect(await log.find('a', signal)).toMatchObject({ status: 'scheduled', dueAt, reason: 'no secret', attempts: [] })
  await clock.advance(NEXT.waitMs)
  expect(await take(log, signal)).toMatchObject({ attempts: 0, dueAt, delivery: { id: 'a' } })
})

test('makes none again when its event is read again', async ({ signal }) => {
  const { due, scheduling } = await beginFirst(signal)
  await due.record(OK, DELIVERED)
  await scheduling
  await scheduleAgain(due.delivery, signal)
  expect(await log.find('a', signal)).toMatchObject({ attempts: [OK] })
})

test('makes one attempt at a delivery that is scheduled twice at the same time', async ({ signal }) => {
  const delivery = aDelivery({ id: 'a' })
  const taking = take(log, signal)
  const scheduling = [log.schedule([delivery], signal), log.schedule([delivery], signal)]
  await (await taking).record(OK, DELIVERED)
  await Promise.all(scheduling)
  expect(await log.find('a', signal)).toMatchObject({ ...DELIVERED, attempts: [OK] })
  await expectNone(signal)
})

test('stores one that takes long as scheduled, and makes it again if the process dies', async ({ signal }) => {
  const { scheduling } = await beginFirst(signal)
  await timer.advance(FIRST_ATTEMPT_MS_MAX)
  await scheduling
  expect(await log.find('a', signal)).toMatchObject({ status: 'scheduled', dueAt: NOON, attempts: [] })
  await expectNone(signal)
  log = await reopened()
  expect(await take(log, signal)).toMatchObject({ attempts: 0, delivery: { id: 'a' } })
})

test('records a result that took long, and makes the redelivery that was requested meanwhile', async ({ signal }) => {
  const { due, scheduling } = await beginFirst(signal)
  await timer.advance(FIRST_ATTEMPT_MS_MAX)
  await scheduling
  expect(await log.redeliver('a', signal)).toBe(true)
  await due.record(OK, DELIVERED)
  expect(await log.find('a', signal)).toMatchObject({ ...DELIVERED, attempts: [OK] })
  expect(await take(log, signal)).toMatchObject({ isRedelivery: true, attempts: 1, delivery: { id: 'a' } })
})

test('takes back one that does not begin: it is stored, and given out from there', async ({ signal }) => {
  const given = log.consume(signal)[Symbol.asyncIterator]()
  const next = given.next()
  const scheduling = log.schedule([aDelivery({ id: 'a' })], signal)
  const { value: early } = await next
  await timer.advance(FIRST_ATTEMPT_MS_MAX)
  await scheduling
  assert(early !== undefined)
  expect(early.begin?.()).toBe(false)
  await early.defer(NEXT.waitMs)
  const { value: due } = await given.next()
  expect(due).toMatchObject({ attempts: 0, dueAt: NOON, delivery: { id: 'a' } })
})

test('is found while it is made, when it is stored', async ({ signal }) => {
  const { due, scheduling } = await beginFirst(signal)
  const looking = [log.find('a', signal), log.listByRender(due.delivery.render, signal).then(([only]) => only)]
  await due.record(OK, DELIVERED)
  await scheduling
  for (const found of await Promise.all(looking)) expect(found).toMatchObject({ ...DELIVERED, delivery: { id: 'a' } })
})

test('makes it again if the process dies before its result is stored', async ({ signal }) => {
  const { due, scheduling } = await beginFirst(signal)
  isDiskFull = true
  await expect(due.record(OK, DELIVERED)).rejects.toThrow(Unavailable)
  await timer.advance(FIRST_ATTEMPT_MS_MAX)
  // So its event counts as unread, and is read again.
  await expect(scheduling).rejects.toThrow(Unavailable)
  isDiskFull = false
  log = await reopened()
  expect(await log.find('a', signal)).toBeUndefined()
  const { due: again } = await beginFirst(signal, due.delivery)
  expect(again).toMatchObject({ attempts: 0, delivery: { id: 'a' } })
})

test('gives out no second one while the disk is full, and keeps its result', async ({ signal }) => {
  const { due, scheduling } = await beginFirst(signal)
  isDiskFull = true
  await timer.advance(FIRST_ATTEMPT_MS_MAX)
  await expect(scheduling).rejects.toThrow(Unavailable)
  await expect(due.record(OK, DELIVERED)).rejects.toThrow(Unavailable)
  isDiskFull = false
  await scheduleAgain(due.delivery, signal)
  await due.record(OK, DELIVERED)
  expect(await log.find('a', signal)).toMatchObject({ ...DELIVERED, attempts: [OK] })
})

test.for(['at once', 'late'] as const)(
  'keeps nothing of a render that is forgotten meanwhile, result %s',
  async (when, { signal }) => {
    const { due, scheduling } = await beginFirst(signal)
    if (when === 'late') {
      await timer.advance(FIRST_ATTEMPT_MS_MAX)
      await scheduling
    }
    await log.forget(due.delivery.render, signal)
    await due.record(FAILED, NEXT)
    await scheduling
    expect(await log.find('a', signal)).toBeUndefined()
    expect(await log.listByRender(due.delivery.render, signal)).toEqual([])
  },
)

test('keeps nothing of a forgotten render whose attempt waits for those of other renders', async ({ signal }) => {
  const given = log.consume(signal)[Symbol.asyncIterator]()
  const all = Array.from({ length: FIRST_ATTEMPTS_PER_TENANT_MAX + 1 }, () => aDelivery())
  const taking = given.next()
  const scheduling = log.schedule(all, signal)
  const held: DueDelivery[] = [(await taking).value]
  while (held.length < FIRST_ATTEMPTS_PER_TENANT_MAX) held.push((await given.next()).value)
  const last = all.at(-1)
  assert(last !== undefined && !held.some(({ delivery }) => delivery.id === last.id))
  await log.forget(last.render, signal)
  for (const due of held) {
    due.begin?.()
    await due.record(OK, DELIVERED)
  }
  await scheduling
  expect(await log.find(last.id, signal)).toBeUndefined()
})

async function reopened(): Promise<DeliveryLog> {
  assert(harness.reopen !== undefined)
  return await harness.reopen()
}
