import { fallbackRenderLedger } from '@platen/adapters/fallback/render-ledger.ts'
import { memoryRenderList } from '@platen/adapters/memory/render-ledger/render-list.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { ENDED_AT_ONCE } from '@platen/adapters/redis/limit.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { PRUNE_ROWS_MAX } from '@platen/adapters/sqlite/limit.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { LEDGER_ENDED_MAX } from '@platen/contract/domain/limit.ts'
import { ledgerByLane } from '@platen/embedded/store/by-lane.ts'
import { describe, expect, test } from 'vitest'
import { aFailure, aManifest, aRecord, aRenderId, NOON } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { all, memoryHarness, opened, sqliteHarness, timed } from './harness.ts'
import { describeOnRedis, scriptCalls } from './redis-harness.ts'
import { describeRenderLedger } from './render-ledger.suite.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describeRenderLedger('memory', () => timed((clock) => memoryHarness(() => memoryRenderLedger(clock))))
describeRenderLedger('sqlite', () => timed((clock) => sqliteHarness((database) => sqliteRenderLedger(database, clock))))
describeRenderLedger('standby, while its ledger is there', () =>
  timed((clock) =>
    memoryHarness(() => {
      const options = {
        list: memoryRenderList(clock),
        artifacts: memoryArtifactStore(),
        serviceBucket: 'platen',
        log: openLog({ level: 'silent', process: 'test', instance: 'test' }),
      }
      return fallbackRenderLedger(memoryRenderLedger(clock), options)
    }),
  ),
)
describeOnRedis('on a real server', (redis) => {
  describeRenderLedger('redis', async () => ({
    ...(await timed((clock) => redis.harness((connection) => redisRenderLedger(connection, clock)))),
    takesUpClaims: true,
  }))

  test('the ledger in Redis takes up the claim of a render that goes on while Redis is wiped', async ({ signal }) => {
    await using connection = await redis.emptied()
    const ledger = redisRenderLedger(connection)
    const [lease, other] = [
      { owner: 'a', leaseMs: DAY_MS },
      { owner: 'b', leaseMs: DAY_MS },
    ]
    const record = aRecord()
    const answer = await ledger.claim(record, lease, signal)
    const claim = { id: record.id, fence: 1, attempt: 1 }
    expect(answer).toStrictEqual({ kind: 'granted', claim })
    await connection.call((client) => client.flushdb(), signal)
    await ledger.markQueued(record, signal)
    expect(await ledger.renew(claim, lease, signal)).toBe(true)
    expect((await ledger.find(record.id, signal))?.state).toStrictEqual({ status: 'running', attempt: 1 })
    await connection.call((client) => client.flushdb(), signal)
    // When another renderer was faster, it has the claim.
    expect(await ledger.claim(record, other, signal)).toMatchObject({ kind: 'granted' })
    expect(await ledger.renew(claim, lease, signal)).toBe(false)
  })

  test('the ledger in Redis completes many renders in one call, and keeps outcomes that it has', async ({ signal }) => {
    const ledger = await opened(redis.harness((connection) => redisRenderLedger(connection)))
    const [before, claimed, unknown] = [aRecord(), aRecord(), aRecord()]
    await ledger.complete(aManifest({ record: before, outcome: aFailure() }), signal)
    await ledger.claim(claimed, { owner: 'a', leaseMs: DAY_MS }, signal)
    await ledger.completeAll(
      [before, claimed, unknown, claimed].map((record) => aManifest({ record })),
      signal,
    )
    await ledger.completeAll([], signal)
    const states = await Promise.all([before, claimed, unknown].map(({ id }) => ledger.find(id, signal)))
    expect(states.map((view) => view?.state.status)).toEqual(['failed', 'succeeded', 'succeeded'])
    expect(await ledger.renew({ id: claimed.id, fence: 1, attempt: 1 }, { owner: 'a', leaseMs: DAY_MS }, signal)).toBe(
      false,
    )
  })

  test('the ledger in Redis keeps others waiting for no more than some renders of many', async ({ signal }) => {
    await using connection = await redis.emptied()
    const ledger = redisRenderLedger(connection)
    await ledger.complete(aManifest(), signal)
    const manifests = Array.from({ length: 2 * ENDED_AT_ONCE + 1 }, () => aManifest())
    expect(await scriptCalls(connection, () => ledger.completeAll(manifests, signal))).toBe(3)
    const views = await Promise.all(manifests.map(({ render }) => ledger.find(render.id, signal)))
    expect(new Set(views.map((view) => view?.state.status))).toEqual(new Set(['succeeded']))
  })

  test('the ledger in Redis is not sure of a render that it knows only by a claim, because its end may be lost', async ({
    signal,
  }) => {
    const ledger = await opened(redis.harness((connection) => redisRenderLedger(connection)))
    const record = aRecord()
    const { id, template, acceptedAt } = record
    const running = { id, template: template.code, acceptedAt, state: { status: 'running', attempt: 1 } }
    await ledger.claim(record, { owner: 'a', leaseMs: DAY_MS }, signal)
    expect(await ledger.find(id, signal)).toStrictEqual({ ...running, mayHaveEnded: true })
    await ledger.markQueued(record, signal)
    expect(await ledger.find(id, signal)).toStrictEqual(running)
  })

  test('the ledger in Redis grants a claim by its clock, which all renderers have in common', async ({ signal }) => {
    await using harness = await redis.harness((connection) => redisRenderLedger(connection))
    await using other = await redis.connect()
    const [one, two] = [await harness.open(), redisRenderLedger(other)]
    const record = aRecord()
    expect(await one.claim(record, { owner: 'a', leaseMs: DAY_MS }, signal)).toMatchObject({ kind: 'granted' })
    expect(await two.claim(record, { owner: 'b', leaseMs: DAY_MS }, signal)).toMatchObject({ kind: 'held' })
    const brief = aRecord()
    expect(await one.claim(brief, { owner: 'a', leaseMs: 0 }, signal)).toMatchObject({ kind: 'granted' })
    expect(await two.claim(brief, { owner: 'b', leaseMs: DAY_MS }, signal)).toMatchObject({ claim: { fence: 2 } })
  })

  test('the ledger in Redis leaves no key that does not expire, whatever came first', async ({ signal }) => {
    await using connection = await redis.emptied()
    const ledger = redisRenderLedger(connection)
    const lease = { owner: 'a', leaseMs: 1000 }
    await ledger.markQueued(aRecord(), signal)
    const { id } = aRecord()
    await ledger.claim(aRecord({ id }), lease, signal)
    await ledger.renew({ id, fence: 1, attempt: 1 }, lease, signal)
    await ledger.renew({ id: aRenderId(), fence: 1, attempt: 1 }, lease, signal)
    await ledger.release({ id: aRenderId(), fence: 1, attempt: 1 }, 'a', signal)
    await ledger.complete(aManifest(), signal)
    const keys = await connection.call((client) => client.keys('*'), signal)
    expect(keys).toHaveLength(4)
    for (const key of keys) expect(await connection.call((client) => client.pttl(key), signal)).toBeGreaterThan(0)
  })
})
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
  const settled = Array.from({ length: LEDGER_ENDED_MAX + 1 }, () => aRecord())
  await ledger.markQueued(open, signal)
  for (const record of settled) await ledger.complete(aManifest({ record }), signal)
  const found = await Promise.all([open, ...settled].map(({ id }) => ledger.find(id, signal)))
  expect(found.findIndex((view) => view === undefined)).toBe(1)
  expect(found.filter((view) => view === undefined)).toHaveLength(1)
})

test('the ledger in SQLite finds a render as queued whose opening was lost', async ({ signal }) => {
  const database = await opened(sqliteHarness((database) => database))
  const record = aRecord()
  await sqliteRenderQueue(database).enqueue(record, signal)
  expect(await sqliteRenderLedger(database, manualClock()).find(record.id, signal)).toStrictEqual({
    id: record.id,
    template: record.template.code,
    acceptedAt: record.acceptedAt,
    state: { status: 'queued' },
  })
})

describe('the ledger in SQLite', () => {
  const ending = (finishedAt: number, fields: Parameters<typeof aRecord>[0] = {}) =>
    aManifest({ record: aRecord({ retentionDays: 1, ...fields }), outcome: aFailure({ finishedAt }) })

  test('gives what is due and nothing else, the oldest first, however much it is', async ({ signal }) => {
    const ledger = await inSqlite()
    const due = Array.from({ length: PRUNE_ROWS_MAX + 1 }, (_, i) => ending(NOON - Math.floor(i / 2)))
    const kept = [ending(NOON + 1), ending(NOON, { retentionDays: 2 })]
    await Promise.all([...due, ...kept].map((manifest) => ledger.complete(manifest, signal)))
    const found = await all(ledger.due(NOON + DAY_MS, signal))
    expect(found.map(({ id }) => id).toSorted()).toStrictEqual(due.map(({ render }) => render.id).toSorted())
    const endOf = new Map(due.map(({ render, outcome }) => [render.id, outcome.finishedAt]))
    const ends = found.map(({ id }) => endOf.get(id) ?? 0)
    expect(ends).toStrictEqual(ends.toSorted((a, b) => a - b))
    expect(found[0]?.storage).toStrictEqual(due[0]?.render.storage)
  })

  test('gives each render once, though it is forgotten meanwhile', async ({ signal }) => {
    const ledger = await inSqlite()
    const due = Array.from({ length: PRUNE_ROWS_MAX + 1 }, () => ending(NOON))
    await Promise.all(due.map((manifest) => ledger.complete(manifest, signal)))
    const found = []
    for await (const { id } of ledger.due(NOON + DAY_MS, signal)) {
      await ledger.forget(id, signal)
      found.push(id)
      expect(await ledger.find(id, signal)).toBeUndefined()
    }
    expect(found.toSorted()).toStrictEqual(due.map(({ render }) => render.id).toSorted())
    expect(await all(ledger.due(NOON + DAY_MS, signal))).toStrictEqual([])
  })

  test('keeps a render without a reported end a day longer than its plan, in which it must have ended', async ({
    signal,
  }) => {
    const ledger = await inSqlite()
    const { id, storage, ...record } = aRecord({ retentionDays: 1 })
    await ledger.claim({ id, storage, ...record }, { owner: 'a', leaseMs: 1 }, signal)
    expect(await all(ledger.due(NOON + 2 * DAY_MS - 1, signal))).toStrictEqual([])
    expect(await all(ledger.due(NOON + 2 * DAY_MS, signal))).toStrictEqual([{ id, storage }])
  })

  test('tells the render that was accepted last', async ({ signal }) => {
    const ledger = await inSqlite()
    expect(await ledger.newest(signal)).toBeUndefined()
    const [older, newest] = [aRecord({ id: aRenderId(NOON - 1) }), aRecord({ id: aRenderId(NOON) })]
    await ledger.markQueued(newest, signal)
    await ledger.complete(aManifest({ record: older }), signal)
    expect(await ledger.newest(signal)).toBe(newest.id)
  })
})

describe('the ledger by lane', () => {
  test('has a sync render on disk once it has ended, and not before', async ({ signal }) => {
    const disk = await inSqlite()
    const ledger = ledgerByLane({ memory: memoryRenderLedger(manualClock()), disk })
    const record = aRecord({ lane: 'sync' })
    await ledger.claim(record, { owner: 'a', leaseMs: 1000 }, signal)
    expect((await ledger.find(record.id, signal))?.state.status).toBe('running')
    expect(await disk.find(record.id, signal)).toBeUndefined()
    await ledger.complete(aManifest({ record }), signal)
    expect(await disk.find(record.id, signal)).toStrictEqual(await ledger.find(record.id, signal))
    expect(await ledger.claim(record, { owner: 'b', leaseMs: 1000 }, signal)).toStrictEqual({ kind: 'settled' })
  })

  test('knows a sync render no longer that the disk has forgotten', async ({ signal }) => {
    const disk = await inSqlite()
    const ledger = ledgerByLane({ memory: memoryRenderLedger(manualClock()), disk })
    const record = aRecord({ lane: 'sync' })
    await ledger.complete(aManifest({ record, outcome: aFailure() }), signal)
    await disk.forget(record.id, signal)
    expect(await ledger.find(record.id, signal)).toBeUndefined()
  })
})

const inSqlite = () => opened(sqliteHarness((database) => sqliteRenderLedger(database, manualClock())))
