import { memoryDeliveryLog } from '@platen/adapters/memory/delivery-log.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { assert, expect, test } from 'vitest'
import { aDelivery } from '../fixture/build.ts'
import { describeDeliveryLog } from './delivery-log.suite.ts'
import { memoryHarness, sqliteHarness } from './harness.ts'

const NEVER = new AbortController().signal

describeDeliveryLog('memory', (clock) => memoryHarness(() => memoryDeliveryLog(clock)))
describeDeliveryLog('sqlite', (clock) => sqliteHarness((database) => openSqliteDeliveryLog(database, clock, NEVER)))

test('the log in SQLite forgets the deliveries of a render, also those in hand', async ({ signal }) => {
  const { manualClock } = await import('@platen/adapters/memory/clock.ts')
  await using harness = await sqliteHarness((database) => openSqliteDeliveryLog(database, manualClock(), NEVER))
  const log = await harness.open()
  const [gone, kept] = [aDelivery(), aDelivery()]
  await log.schedule([gone], signal)
  await log.schedule([kept], signal)
  for await (const due of log.consume(signal)) {
    if (due.delivery.id !== gone.id) continue
    await log.forget(gone.render, signal)
    await due.record({ startedAt: 0, durationMs: 1, result: 'ok' }, { status: 'delivered' })
    break
  }
  expect(await log.find(gone.id, signal)).toBeUndefined()
  const record = await log.find(kept.id, signal)
  assert(record !== undefined)
  expect(record.delivery).toStrictEqual(kept)
})
