import { memoryDeliveryList } from '@platen/adapters/memory/delivery-log/delivery-list.ts'
import { redisDeliveryList } from '@platen/adapters/redis/render-list/delivery-list.ts'
import { sqliteDeliveryList } from '@platen/adapters/sqlite/delivery-log/delivery-list.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import type { DeliveryListView, ListedDelivery } from '@platen/contract/port/delivery-list.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import { listedDelivery } from '@platen/contract/port/listed-delivery.ts'
import { RenderListIncomplete } from '@platen/contract/port/render-list.ts'
import { assert, expect, test } from 'vitest'
import { aRecord, NEVER, rejectionOf } from '../fixture/build.ts'
import { memoryDeliveryLog } from '../fixture/memory/delivery-log.ts'
import { aListedDelivery, describeDeliveryList, type ListedDeliveries } from './delivery-list.suite.ts'
import { memoryHarness, sqliteHarness, timed } from './harness.ts'
import { completeLists, describeOnRedis } from './redis-harness.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const { account, environment } = aRecord()
const SCOPE = { account, environment }

/** A log, and a view that is told of it. */
function told(log: DeliveryLog, list: DeliveryListView): ListedDeliveries {
  return {
    list,
    log,
    async shown(id) {
      const record = await log.find(id, NEVER)
      const listed = record && listedDelivery(record)
      const scope = record && { account: record.delivery.account, environment: record.delivery.environment }
      if (listed && scope) await list.put(scope, listed, NEVER)
    },
    erase: (render) => list.remove(SCOPE, render, NEVER),
  }
}

describeDeliveryList('memory', () =>
  timed((clock) => memoryHarness(() => told(memoryDeliveryLog(clock), memoryDeliveryList(clock)))),
)

describeDeliveryList('sqlite', () =>
  timed((clock) =>
    sqliteHarness(async (database) => {
      const log = await openSqliteDeliveryLog(database, { clock }, NEVER)
      const erase: ListedDeliveries['erase'] = (render) => log.forget(render, NEVER)
      return { log, list: sqliteDeliveryList(database, clock), shown: async () => undefined, erase }
    }),
  ),
)

describeOnRedis('on a real server', (redis) => {
  describeDeliveryList('redis', () =>
    timed((clock) =>
      redis.harness(async (connection) => {
        await completeLists(connection)
        return told(memoryDeliveryLog(clock), redisDeliveryList(connection, { clock }))
      }),
    ),
  )

  function kept(minutesAgo: number, keptMs = DAY_MS): ListedDelivery {
    const delivery = aListedDelivery(minutesAgo)
    const listed = listedDelivery({ delivery, status: 'scheduled', attempts: [] })
    assert(listed !== undefined)
    return { ...listed, expiresAt: Date.now() + keptMs }
  }

  test('the list of deliveries in Redis shows nothing before it has all events, also after a loss', async ({
    signal,
  }) => {
    await using connection = await redis.emptied()
    const list = redisDeliveryList(connection)
    const page = () => list.page({ scope: SCOPE, limit: 10 }, signal)
    await list.put(SCOPE, kept(1), signal)
    expect(await rejectionOf(page())).toBeInstanceOf(RenderListIncomplete)
    await completeLists(connection)
    expect((await page()).deliveries).toHaveLength(1)
    await connection.call((client) => client.flushall(), signal)
    expect(await rejectionOf(page())).toBeInstanceOf(RenderListIncomplete)
  })

  test('what is added to it replaces nothing, and shows nothing that was removed', async ({ signal }) => {
    await using connection = await redis.emptied()
    await completeLists(connection)
    const list = redisDeliveryList(connection)
    const [known, gone, unknown] = [kept(1), kept(2), kept(3)]
    await list.put(SCOPE, { ...known, status: 'delivered' }, signal)
    await list.remove(SCOPE, gone.render, signal)
    const settled = [known, gone, unknown].map(({ render }) => list.isSettled(SCOPE, render, signal))
    expect(await Promise.all(settled)).toEqual([true, true, false])
    for (const delivery of [known, gone, unknown]) await list.add(SCOPE, delivery, signal)
    const { deliveries } = await list.page({ scope: SCOPE, limit: 10 }, signal)
    expect(deliveries).toEqual([{ ...known, status: 'delivered' }, unknown])
  })

  test('it has no URL, expires, and counts its bytes to the last', async ({ signal }) => {
    await using connection = await redis.emptied()
    const list = redisDeliveryList(connection)
    const all = [kept(1), kept(2, 9 * DAY_MS), kept(3)]
    for (const delivery of all) await list.put(SCOPE, delivery, signal)
    for (const delivery of all) await list.put(SCOPE, { ...delivery, status: 'exhausted' }, signal)
    const entries = await connection.call((client) => client.zrange(BASE, '0', '-1'), signal)
    expect(entries).toHaveLength(3)
    expect(entries.join()).not.toMatch(/https?:/)
    for (const key of await connection.call((client) => client.keys('platen:deliveries:*'), signal))
      expect(await connection.call((client) => client.pttl(key), signal), key).toBeGreaterThan(8 * DAY_MS)
    for (const { render } of all) await list.remove(SCOPE, render, signal)
    expect(Number(await connection.call((client) => client.get(`${BASE}:bytes`), signal))).toBe(0)
  })
})

const BASE = `platen:deliveries:{${account}}:${environment}`
