import { fallbackRenderLedger } from '@platen/adapters/fallback/render-ledger.ts'
import { memoryRenderList } from '@platen/adapters/memory/render-ledger/render-list.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { redisRenderList } from '@platen/adapters/redis/render-list.ts'
import { sqliteRenderList } from '@platen/adapters/sqlite/render-ledger/render-list.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { listedEnded } from '@platen/contract/port/listed-render.ts'
import type { ErasableRenderLedger } from '@platen/contract/port/render-ledger.ts'
import { RenderListIncomplete, type RenderListView } from '@platen/contract/port/render-list.ts'
import { expect, test } from 'vitest'
import { aManifest, aRecord, aRenderId, NEVER, NOON, rejectionOf, SILENT } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { memoryHarness, sqliteHarness, timed } from './harness.ts'
import { completeLists, describeOnRedis } from './redis-harness.ts'
import { describeRenderList, type ListedRenders } from './render-list.suite.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const SCOPE = { account: 'acme', environment: 'live' } as const

/** A ledger and a list that it tells, erased as retention does it. */
function listed(ledger: ErasableRenderLedger, list: RenderListView): ListedRenders {
  const stores = { list, artifacts: memoryArtifactStore(), serviceBucket: 'platen', log: SILENT }
  return {
    list,
    ledger: fallbackRenderLedger(ledger, stores),
    async erase({ render }, tombstone) {
      await list.remove(render, render.id, NEVER)
      await ledger.forget(render.id, NEVER)
      await ledger.complete(tombstone, NEVER)
    },
  }
}

describeRenderList('memory', () =>
  timed((clock) => memoryHarness(() => listed(memoryRenderLedger(clock), memoryRenderList(clock)))),
)

describeRenderList('sqlite', () =>
  timed((clock) =>
    sqliteHarness((database) => {
      const ledger = sqliteRenderLedger(database, clock)
      const erase: ListedRenders['erase'] = async ({ render }, tombstone) => {
        await ledger.forget(render.id, NEVER)
        await ledger.complete(tombstone, NEVER)
      }
      return { ledger, list: sqliteRenderList(database, clock), erase }
    }),
  ),
)

describeOnRedis('on a real server', (redis) => {
  describeRenderList('redis', () =>
    timed((clock) =>
      redis.harness(async (connection) => {
        await completeLists(connection)
        return listed(redisRenderLedger(connection, clock), redisRenderList(connection, { clock }))
      }),
    ),
  )

  const ended = (fields: Parameters<typeof aRecord>[0] = {}) =>
    listedEnded(aManifest({ record: aRecord({ acceptedAt: Date.now(), ...fields }) }))
  const kept = (fields: Parameters<typeof aRecord>[0] = {}) => ({ ...ended(fields), expiresAt: Date.now() + DAY_MS })

  test('the list in Redis shows nothing before it has all events, also after a loss', async ({ signal }) => {
    await using connection = await redis.emptied()
    const list = redisRenderList(connection)
    const page = () => list.page({ scope: SCOPE, limit: 10 }, signal)
    await list.put(SCOPE, kept(), signal)
    expect(await rejectionOf(page())).toBeInstanceOf(RenderListIncomplete)
    await completeLists(connection)
    expect((await page()).renders).toHaveLength(1)
    await connection.call((client) => client.flushall(), signal)
    expect(await rejectionOf(page())).toBeInstanceOf(RenderListIncomplete)
  })

  test('the list in Redis tells what it has of renders that ended', async ({ signal }) => {
    await using connection = await redis.emptied()
    const list = redisRenderList(connection)
    const [open, over, gone, unknown] = [kept(), kept(), kept(), kept()]
    await list.put(SCOPE, { ...open, state: { status: 'running' } }, signal)
    await list.put(SCOPE, over, signal)
    await list.remove(SCOPE, gone.id, signal)
    const settled = [open, over, gone, unknown].map(({ id }) => list.isSettled(SCOPE, id, signal))
    expect(await Promise.all(settled)).toEqual([false, true, true, false])
  })

  test('the list in Redis drops the oldest renders beyond its bytes, and counts nothing twice', async ({ signal }) => {
    await using connection = await redis.emptied()
    await completeLists(connection)
    const list = redisRenderList(connection, { bytesMax: 40_000 })
    const metadata = { note: 'x'.repeat(500) }
    const all = Array.from({ length: 100 }, (_, i) => kept({ id: aRenderId(NOON + i), reference: `r${i}`, metadata }))
    const bytes = async () =>
      Number(await connection.call((client) => client.get('platen:list:{acme}:live:bytes'), signal))
    for (const render of all) {
      for (const status of ['queued', 'running'] as const)
        await list.put(SCOPE, { ...render, state: { status } }, signal)
      await list.put(SCOPE, render, signal)
      expect(await bytes()).toBeLessThanOrEqual(40_000)
    }
    const { renders } = await list.page({ scope: SCOPE, limit: 100 }, signal)
    expect(renders.length).toBeGreaterThan(10)
    expect(renders.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .toReversed()
        .slice(0, renders.length),
    )
    for (const { id } of renders) await list.remove(SCOPE, id, signal)
    expect(await bytes()).toBe(0)
    const left = await connection.call((client) => client.keys('platen:list:*'), signal)
    expect(left.toSorted()).toEqual(['platen:list:{acme}:live:bytes', 'platen:list:{acme}:live:removed'])
  })

  test('the list in Redis leaves no key that does not expire, and none before what is in it', async ({ signal }) => {
    await using connection = await redis.emptied()
    const list = redisRenderList(connection)
    const long = { ...kept({ reference: 'a' }), expiresAt: Date.now() + 9 * DAY_MS }
    await list.put(SCOPE, kept(), signal)
    await list.put(SCOPE, long, signal)
    await list.put(SCOPE, kept(), signal)
    await list.remove(SCOPE, kept().id, signal)
    const keys = await connection.call((client) => client.keys('platen:list:*'), signal)
    expect(keys).toHaveLength(4)
    for (const key of keys) {
      const ttl = await connection.call((client) => client.pttl(key), signal)
      expect(ttl, key).toBeGreaterThan(key.endsWith('removed') ? 0 : 8 * DAY_MS)
    }
  })

  test('the list in Redis takes out what has expired as renders are added', async ({ signal }) => {
    await using harness = await timed((clock) =>
      redis.harness((connection) => ({ connection, list: redisRenderList(connection, { clock }) })),
    )
    const { connection, list } = await harness.open()
    const brief = { ...ended(), expiresAt: NOON + 1000 }
    for (let i = 0; i < 5; i++) await list.put(SCOPE, { ...brief, id: aRenderId(NOON - 9 + i) }, signal)
    await harness.advance(1000)
    for (let i = 0; i < 3; i++) await list.put(SCOPE, { ...ended(), expiresAt: NOON + DAY_MS }, signal)
    expect(await connection.call((client) => client.zcard('platen:list:{acme}:live'), signal)).toBe(3)
    expect(await connection.call((client) => client.zcard('platen:list:{acme}:live:index'), signal)).toBe(6)
  })
})
