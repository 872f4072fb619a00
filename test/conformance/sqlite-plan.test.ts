/** How SQLite runs the statements of its adapters. None may read all rows of a table that grows with the renders that are kept. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Database, openDatabase } from '@platen/adapters/sqlite/database.ts'
import { sqliteDeliveryList } from '@platen/adapters/sqlite/delivery-log/delivery-list.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { sqliteEventLog } from '@platen/adapters/sqlite/event-log.ts'
import { openSqliteLimiter } from '@platen/adapters/sqlite/limiter.ts'
import { sqliteRenderList } from '@platen/adapters/sqlite/render-ledger/render-list.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { DELIVERY_STATUSES } from '@platen/contract/domain/delivery.ts'
import { cancellationOf, STATUSES } from '@platen/contract/domain/render.ts'
import type { BatchId } from '@platen/contract/domain/render-id.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { expect, test } from 'vitest'
import { listFiles, readText } from '../architecture/source-tree.ts'
import { aDelivery, aManifest, anEvent, aRecord, NEVER, NOON } from '../fixture/build.ts'

/**
 * The only rows that are read one after the other: what is queued, and the sums of charges, at the start, and the few rows of a partial
 * index.
 */
const ALLOWED = [
  'SCAN queue',
  'SCAN charge_sum',
  'SCAN render USING INDEX render_held',
  // Results of other parts of the statement, which have bounds of their own.
  /^SCAN \(?subquery-\d+\)?$/,
  /^SCAN json_each/,
  'SCAN CONSTANT ROW',
]
/** It reads one row, in the order of the table. */
const FIRST_ROW = /^SELECT id FROM render ORDER BY id DESC LIMIT 1$/
const CLOCK = systemClock()
const LEASE = { owner: 'me', leaseMs: 60_000 }

test('no statement of an adapter reads all rows of a table that grows', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'platen-plan-'))
  try {
    const path = join(folder, 'platen.db')
    const texts = new Set<string>()
    {
      await using database = await openDatabase({ path, signal: NEVER })
      await useEverything(noting(database, texts))
    }
    expect(unused(texts)).toEqual([])
    using database = new DatabaseSync(path)
    const plans = [...texts].map((sql) => ({ sql, scans: scansOf(database, sql) }))
    expect(plans.filter(({ scans }) => scans.length > 0)).toEqual([])
    // The check can fail: without its index the same statement reads every event.
    database.exec('DROP INDEX event_dated')
    expect([...texts].flatMap((sql) => scansOf(database, sql))).toEqual(['SCAN event'])
  } finally {
    await rm(folder, { recursive: true })
  }
})

/** The service keeps no statistics of its tables, so the plan of a statement does not depend on how many rows there are. */
function scansOf(database: DatabaseSync, sql: string): string[] {
  if (FIRST_ROW.test(sql)) return []
  const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
  const scans = steps.map(({ detail }) => String(detail)).filter((detail) => detail.startsWith('SCAN'))
  return scans.filter((scan) => !ALLOWED.some((one) => (typeof one === 'string' ? one === scan : one.test(scan))))
}

function noting(database: Database, texts: Set<string>): Database {
  const note = (command: Parameters<Database['run']>[0]) => {
    for (const { sql } of command) texts.add(sql)
    return command
  }
  return {
    failed: database.failed,
    run: (command, signal) => database.run(note(command), signal),
    post: (command) => database.post(note(command)),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

/** Of the statements in the sources, by the beginnings of their texts, those that were not run. */
function unused(texts: ReadonlySet<string>): string[] {
  const sources = listFiles().filter((file) => /^adapters\/src\/sqlite\/(?!.*\.test\.).*\.ts$/.test(file))
  const inSources = sources.flatMap((file) =>
    [...readText(file).matchAll(/`((?:SELECT|INSERT|UPDATE|DELETE) [^`$]*)/g)].map(([, text = '']) => text),
  )
  expect(inSources.length).toBeGreaterThan(30)
  return inSources.filter((text) => ![...texts].some((run) => run.includes(text)))
}

async function useEverything(database: Database): Promise<void> {
  const limiter = await openSqliteLimiter(database, CLOCK, NEVER)
  const record = aRecord()
  const manifest = aManifest({ record })
  await limiter.complete(manifest, NEVER)
  await limiter.prune(NOON, NEVER)
  await useLedger(database)
  await useQueue(database)
  await useDeliveries(database)
  const events = sqliteEventLog(database)
  await events.append(anEvent(manifest), NEVER)
  for await (const received of events.follow('test', NEVER)) {
    await received.done()
    break
  }
  await events.prune(NOON, NEVER)
}

async function useLedger(database: Database): Promise<void> {
  const ledger = sqliteRenderLedger(database, CLOCK)
  const record = aRecord()
  await ledger.markQueued(record, NEVER)
  for (const end of ['release', 'renew'] as const) {
    const claimed = await ledger.claim(record, LEASE, NEVER)
    if (claimed.kind !== 'granted') throw new Error('nobody else has it')
    if (end === 'release') await ledger.release(claimed.claim, LEASE.owner, NEVER)
    else await ledger.renew(claimed.claim, LEASE, NEVER)
  }
  await ledger.cancel(record.id, NEVER)
  await ledger.complete(cancellationOf(record, NOON), NEVER)
  await ledger.complete(aManifest({ record }), NEVER)
  await ledger.find(record.id, NEVER)
  await ledger.newest(NEVER)
  for await (const _ of ledger.due(Date.now(), NEVER));
  for await (const _ of ledger.ofAccount(record.account, NEVER));
  await ledger.forgetRecords(record.id, NEVER)
  await ledger.forget(record.id, NEVER)
  const list = sqliteRenderList(database, CLOCK)
  const scope = record
  await list.remove(scope, record.id, NEVER)
  // It has the form of one.
  const batch = record.id as string as BatchId
  await list.count(scope, batch, NEVER)
  const filters = {
    status: STATUSES[0],
    engine: ENGINES[0],
    template: aRecord().template.code,
    reference: 'order-7',
    batch,
  }
  for (const query of combinationsOf(filters)) await list.page({ scope, limit: 10, ...query }, NEVER)
}

async function useQueue(database: Database): Promise<void> {
  const queue = sqliteRenderQueue(database)
  await using consumer = await queue.consume('react_pdf', NEVER)
  for (const end of ['done', 'deadLetter'] as const) {
    await queue.enqueue(aRecord(), NEVER)
    let delivered = consumer.poll('async')
    for (; delivered === undefined; delivered = consumer.poll('async')) await consumer.waitForRecord(NEVER)
    if (end === 'done') await delivered.done(NEVER)
    else await delivered.deadLetter('a reason', NEVER)
  }
}

async function useDeliveries(database: Database): Promise<void> {
  const log = await openSqliteDeliveryLog(database, { clock: CLOCK }, NEVER)
  const delivery = aDelivery({ createdAt: Date.now() })
  await log.schedule([delivery, aDelivery({ createdAt: Date.now() })], NEVER)
  const attempt = { startedAt: NOON, durationMs: 1, result: 'ok', statusCode: 200 } as const
  for await (const due of log.consume(NEVER)) {
    await due.record(attempt, { status: 'delivered' })
    await due.record(attempt, undefined)
    await due.defer(1)
    // While there is a consumer, a new delivery goes to it first.
    const scheduling = log.schedule([aDelivery({ createdAt: Date.now() })], NEVER)
    for await (const first of log.consume(NEVER)) {
      if (first.begin?.() === undefined) continue
      await first.record(attempt, { status: 'delivered' })
      break
    }
    await scheduling
    break
  }
  await log.find(delivery.id, NEVER)
  await log.listByRender(delivery.render, NEVER)
  await log.redeliver(delivery.id, NEVER)
  await log.forget(delivery.render, NEVER)
  const list = sqliteDeliveryList(database, CLOCK)
  const filters = { status: DELIVERY_STATUSES[0], template: aRecord().template.code, reference: 'order-7' }
  for (const query of combinationsOf(filters)) await list.page({ scope: aRecord(), limit: 10, ...query }, NEVER)
}

/** Each subset of these fields. */
function combinationsOf<Fields extends object>(fields: Fields): Partial<Fields>[] {
  return Object.entries(fields).reduce<Partial<Fields>[]>(
    (all, [name, value]) => [...all, ...all.map((one) => ({ ...one, [name]: value }))],
    [{}],
  )
}
