import { fallbackLimiter } from '@platen/adapters/fallback/limiter.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import type { Database } from '@platen/adapters/sqlite/database.ts'
import { PRUNE_ROWS_MAX } from '@platen/adapters/sqlite/limit.ts'
import { openSqliteLimiter } from '@platen/adapters/sqlite/limiter.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { LEDGER_ENDED_MAX } from '@platen/contract/domain/limit.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { assert, describe, expect, test } from 'vitest'
import { aManifest, aRecord, aReservation, NEVER, NOON, recordOf, SILENT } from '../fixture/build.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { memoryLimiter } from '../fixture/memory/limiter.ts'
import { memoryHarness, opened, sqliteHarness, timed } from './harness.ts'
import { describeBatches } from './limiter.batch.suite.ts'
import type { LimiterHarness } from './limiter.model.ts'
import { describeReport } from './limiter.report.suite.ts'
import { describeLimiter } from './limiter.suite.ts'
import { describeTenantRates } from './limiter.tenant.suite.ts'
import { describeOnRedis, type RedisFixture } from './redis-harness.ts'

const inMemory = () => timed((clock) => memoryHarness(() => memoryLimiter(clock)))

const whileThere = () =>
  timed((clock) => {
    const options = { clock, log: SILENT, replicas: () => assert.fail('nothing is away') }
    return memoryHarness(() => fallbackLimiter({ limiter: memoryLimiter(clock), ...options }))
  })

/** There is one replica, so its share is the whole limit. */
const whileAway = () =>
  timed((clock) => {
    const away = () => Promise.reject(new Unavailable('it is away'))
    const limiter = { reserve: away, confirm: away, complete: away, usage: away, report: away }
    return memoryHarness(() => fallbackLimiter({ limiter, clock, log: SILENT }))
  })

async function inSqlite(): Promise<LimiterHarness> {
  let database: Database | undefined
  const harness = timed((clock) =>
    sqliteHarness((opened) => {
      database = opened
      return openSqliteLimiter(opened, clock, NEVER)
    }),
  )
  return {
    ...(await harness),
    queue: {
      async add(record, signal) {
        assert(database !== undefined)
        await sqliteRenderQueue(database).enqueue(record, signal)
      },
      async remove(id, signal) {
        await database?.run([{ sql: 'DELETE FROM queue WHERE id = ?', values: [id] }], signal)
      },
    },
  }
}

const inRedis = (redis: RedisFixture) =>
  timed((clock) => redis.harness((connection) => redisLimiter(connection, { clock })))

describeLimiter('memory', inMemory)
describeLimiter('standby, while its limiter is there', whileThere)
describeLimiter('sqlite', inSqlite)
describeTenantRates('memory', inMemory)
describeReport('memory', inMemory)
describeBatches('memory', inMemory)
describeBatches('standby, while its limiter is there', whileThere)
describeTenantRates('standby, while its limiter is there', whileThere)
describeTenantRates('standby, while its limiter is away', whileAway)
describeTenantRates('sqlite', inSqlite)
describeReport('sqlite', inSqlite)
describeBatches('sqlite', inSqlite)
describeOnRedis('on a real server', (redis) => {
  describeLimiter('redis', () => inRedis(redis))
  describeTenantRates('redis', () => inRedis(redis))
  describeReport('redis', () => inRedis(redis))
  describeBatches('redis', () => inRedis(redis))
})

test('the limiter in memory knows a render again that ended as many as LEDGER_SETTLED_MAX ends ago', async () => {
  const limiter = memoryLimiter(manualClock(NOON))
  const manifests = Array.from({ length: 2.5 * LEDGER_ENDED_MAX }, () => aManifest())
  const { account, period } = aRecord()
  for (const [i, manifest] of manifests.entries()) {
    await limiter.complete(manifest, NEVER)
    await limiter.complete(manifests[i - LEDGER_ENDED_MAX + 1] ?? manifest, NEVER)
  }
  expect(await limiter.usage(account, period, NEVER)).toEqual({ charged: manifests.length, reserved: 0 })
})

describe('the limiter in SQLite', () => {
  const limiterIn = (database: Database) => openSqliteLimiter(database, manualClock(NOON), NEVER)
  const { account, period } = aRecord()

  test('finds what is queued reserved, and what was charged before', async () => {
    await using harness = await sqliteHarness((database) => database)
    const database = await harness.open()
    const [queued, ended] = [aRecord({ units: 5 }), aRecord({ units: 3 })]
    await sqliteRenderQueue(database).enqueue(queued, NEVER)
    const before = await limiterIn(database)
    await before.reserve(aReservation({ units: 7 }), NEVER)
    await before.complete(aManifest({ record: ended }), NEVER)
    await before.complete(aManifest({ record: aRecord({ period: '2026-12', units: 2 }) }), NEVER)
    const limiter = await limiterIn(await harness.open())
    expect(await limiter.usage(account, period, NEVER)).toEqual({ charged: 3, reserved: 5 })
    expect(await limiter.usage(account, '2026-12', NEVER)).toEqual({ charged: 2, reserved: 0 })
    expect(await limiter.reserve(aReservation({ limits: { asyncFairShare: 1 } }), NEVER)).toMatchObject({
      lane: 'bulk',
    })
    await limiter.complete(aManifest({ record: ended }), NEVER)
    await limiter.complete(aManifest({ record: queued }), NEVER)
    expect(await limiter.usage(account, period, NEVER)).toEqual({ charged: 8, reserved: 1 })
  })

  test('finds a queued render of a batch outside of the async lane', async () => {
    await using harness = await sqliteHarness((database) => database)
    const database = await harness.open()
    const reservation = aReservation({ others: [] })
    await sqliteRenderQueue(database).enqueue(recordOf(reservation), NEVER)
    const limiter = await limiterIn(database)
    expect(await limiter.reserve(aReservation({ limits: { asyncFairShare: 1 } }), NEVER)).toMatchObject({
      lane: 'async',
      usage: { reserved: 2 },
    })
  })

  test('counts a render once that was charged and is still queued', async () => {
    await using harness = await sqliteHarness((database) => database)
    const database = await harness.open()
    const record = aRecord({ units: 5 })
    await sqliteRenderQueue(database).enqueue(record, NEVER)
    await (await limiterIn(database)).complete(aManifest({ record }), NEVER)
    const limiter = await limiterIn(await harness.open())
    expect(await limiter.usage(account, period, NEVER)).toEqual({ charged: 5, reserved: 0 })
    await limiter.complete(aManifest({ record }), NEVER)
    expect(await limiter.usage(account, period, NEVER)).toEqual({ charged: 5, reserved: 0 })
  })

  test('reserves and confirms without its disk', async () => {
    const database = await opened(sqliteHarness((database) => database))
    const limiter = await limiterIn(database)
    await database[Symbol.asyncDispose]()
    const request = aReservation()
    expect(await limiter.reserve(request, NEVER)).toMatchObject({ kind: 'admitted' })
    await limiter.confirm(recordOf(request), NEVER)
    expect(await limiter.usage(account, period, NEVER)).toEqual({ charged: 0, reserved: 1 })
    await expect(limiter.complete(aManifest({ record: recordOf(request) }), NEVER)).rejects.toThrow('closed')
    expect(await limiter.usage(account, period, NEVER)).toEqual({ charged: 0, reserved: 1 })
  })

  test('charges a render whose settler left before the disk had answered', async () => {
    await using harness = await sqliteHarness((database) => database)
    const limiter = await limiterIn(await harness.open())
    const record = aRecord({ units: 5 })
    const leaving = new AbortController()
    const settled = limiter.complete(aManifest({ record }), leaving.signal)
    leaving.abort(new Error('gone'))
    await expect(settled).rejects.toThrow('gone')
    await limiter.complete(aManifest({ record }), NEVER)
    expect(await limiter.usage(account, period, NEVER)).toEqual({ charged: 5, reserved: 0 })
  })

  test('forgets the charges of renders that ended before then and the sums of earlier months, however many', async () => {
    await using harness = await sqliteHarness((database) => database)
    const database = await harness.open()
    const limiter = await limiterIn(database)
    const { outcome } = aManifest()
    const manifestAt = (finishedAt: number, fields: Partial<RenderRecord>) =>
      aManifest({ record: aRecord(fields), outcome: { ...outcome, finishedAt } })
    const accounts = Array.from({ length: PRUNE_ROWS_MAX + 1 }, (_, at) => `account-${at}`)
    const old = accounts.map((account) => manifestAt(NOON - 1, { account, period: '2026-10' }))
    const young = [manifestAt(NOON - 1, {}), manifestAt(NOON, {})]
    await Promise.all([...old, ...young].map((manifest) => limiter.complete(manifest, NEVER)))
    await limiter.prune(NOON, NEVER)
    const [charges, [sums] = []] = await database.run([
      { sql: 'SELECT dated FROM charge' },
      { sql: 'SELECT count(*) AS rows FROM charge_sum' },
    ])
    expect(charges).toEqual([{ dated: NOON }])
    // In all, by template and by day.
    expect(sums).toEqual({ rows: 3 })
    const reopened = await limiterIn(await harness.open())
    expect(await reopened.usage(account, period, NEVER)).toEqual({ charged: 2, reserved: 0 })
    expect(await reopened.usage('account-7', '2026-10', NEVER)).toEqual({ charged: 0, reserved: 0 })
  })
})
