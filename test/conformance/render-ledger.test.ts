import { type ManualClock, manualClock } from '@platen/adapters/memory/clock.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { LEDGER_SETTLED_MAX, PRUNE_ROWS_MAX } from '@platen/contract/limit.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import { ledgerByLane } from '@platen/embedded/by-lane.ts'
import { expect, test } from 'vitest'
import { aFailure, aManifest, aRecord, NOON } from '../fixture/build.ts'
import { type Harness, memoryHarness, sqliteHarness } from './harness.ts'
import { describeRenderLedger, type RenderLedgerHarness } from './render-ledger.suite.ts'

describeRenderLedger('memory', () => timed((clock) => memoryHarness(() => memoryRenderLedger(clock))))
describeRenderLedger('sqlite', () => timed((clock) => sqliteHarness((database) => sqliteRenderLedger(database, clock))))
describeRenderLedger('memory for sync, sqlite for the rest', () =>
  timed((clock) =>
    sqliteHarness((database) =>
      ledgerByLane({ memory: memoryRenderLedger(clock), disk: sqliteRenderLedger(database, clock) }),
    ),
  ),
)

test('the ledger in memory forgets the oldest settled render beyond its limit, and no open one', async ({ signal }) => {
  const ledger = memoryRenderLedger(manualClock())
  const open = aRecord()
  const settled = Array.from({ length: LEDGER_SETTLED_MAX + 1 }, () => aRecord())
  await ledger.open(open, signal)
  for (const record of settled) await ledger.settle(aManifest({ record }), signal)
  const found = await Promise.all([open, ...settled].map(({ id }) => ledger.find(id, signal)))
  expect(found.findIndex((view) => view === undefined)).toBe(1)
  expect(found.filter((view) => view === undefined)).toHaveLength(1)
})

test('the ledger in SQLite finds a render as queued whose opening was lost', async ({ signal }) => {
  await using harness = await sqliteHarness((database) => database)
  const database = await harness.open()
  const record = aRecord()
  await sqliteRenderQueue(database).enqueue(record, signal)
  expect(await sqliteRenderLedger(database, manualClock()).find(record.id, signal)).toStrictEqual({
    id: record.id,
    template: record.template.code,
    acceptedAt: record.acceptedAt,
    state: { status: 'queued' },
  })
})

test('the ledger in SQLite forgets on request what ended before then, however much it is', async ({ signal }) => {
  await using harness = await sqliteHarness((database) => sqliteRenderLedger(database, manualClock()))
  const ledger = await harness.open()
  const settled = Array.from({ length: PRUNE_ROWS_MAX + 1 }, () => aRecord())
  const late = aRecord()
  await Promise.all(
    settled.map((record) => ledger.settle(aManifest({ record, outcome: aFailure({ finishedAt: NOON }) }), signal)),
  )
  await ledger.settle(aManifest({ record: late, outcome: aFailure({ finishedAt: NOON + 1 }) }), signal)
  await ledger.prune(NOON, signal)
  expect(await ledger.find(settled[0]?.id ?? late.id, signal)).toBeDefined()
  await ledger.prune(NOON + 1, signal)
  const left = await Promise.all(settled.map(({ id }) => ledger.find(id, signal)))
  expect(left.filter((view) => view !== undefined)).toStrictEqual([])
  expect(await ledger.find(late.id, signal)).toBeDefined()
})

async function timed(
  makeHarness: (clock: ManualClock) => Promise<Harness<RenderLedger>>,
): Promise<RenderLedgerHarness> {
  const clock = manualClock()
  return { ...(await makeHarness(clock)), clock, advance: (ms) => clock.advance(ms) }
}
