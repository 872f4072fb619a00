/** Tests the two forms of charged renders in Redis: what they cost, and that a month is exact whichever versions and formats charge it. */
import { randomInt } from 'node:crypto'
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { ENDED_AT_ONCE } from '@platen/adapters/redis/limit.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { limiterPrefix } from '@platen/adapters/redis/limiter-settings.ts'
import { FORMAT } from '@platen/contract/format.ts'
import type { AuditableLimiter } from '@platen/contract/port/limiter.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import { expect, test } from 'vitest'
import { aManifest, aRecord, NEVER } from '../fixture/build.ts'
import { leftBy } from '../scenario/upgrade/left.ts'
import { chargeBefore } from './charge-before.ts'
import { describeOnRedis, scriptCalls } from './redis-harness.ts'

const { account, period } = aRecord()
const [KEY_1, KEY_2] = ['', '2:'].map((form) => `${limiterPrefix(account)}:charges:${form}${period}`) as [
  string,
  string,
]
/** Of an entry of format 2, and renders in a bucket on average. */
const [ENTRY_BYTES, BUCKET_RENDERS] = [10, 64]

const chargedBy = async (limiter: AuditableLimiter) => (await limiter.usage(account, period, NEVER)).charged
const chargesIn = (connection: RedisConnection) => connection.call((client) => client.keys('*:charges:*'), NEVER)

/** The buckets of format 2, by name. */
async function bucketsIn(connection: RedisConnection): Promise<readonly Buffer[]> {
  const fields = await connection.call((client) => client.hgetallBuffer(KEY_2), NEVER)
  return Object.entries(fields).flatMap(([name, entries]) => (/^\d+$/.test(name) ? [entries] : []))
}

describeOnRedis('charges in Redis', (redis) => {
  test('go on from those that the version before has left', async () => {
    await using connection = await redis.emptied()
    const left = Object.entries(leftBy('cluster').redis).filter(([name]) => name.includes(':charges:'))
    expect(left).toHaveLength(2)
    for (const [name, charges] of left) {
      // Charges are a hash, and the name of their count begins with the id of a charged render.
      const fields = charges as Readonly<Record<string, string>>
      const [, of = '', month = ''] = /\{(\w+)\}:charges:(.+)$/.exec(name) ?? []
      const id = fields['count']?.split('-')[0] as RenderId
      const charged = aManifest({ record: aRecord({ id, account: of, period: month }) })
      await connection.call((client) => client.hset(name, fields), NEVER)
      for (const format of [1, FORMAT]) {
        const limiter = redisLimiter(connection, { format })
        await limiter.complete(charged, NEVER)
        expect((await limiter.usage(of, month, NEVER)).charged).toBe(format + 1)
        await limiter.complete(aManifest({ record: aRecord({ account: of, period: month }) }), NEVER)
      }
    }
  })

  test('are made once in format 1 where the version before makes them too, in whichever order', async () => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { format: 1 })
    const records = Array.from({ length: 300 }, () => aRecord({ units: 2 }))
    for (const [at, record] of records.entries()) {
      const both = [
        () => chargeBefore(connection, record),
        () => limiter.completeAll([aManifest({ record }), aManifest({ record: records[at - 7] ?? record })], NEVER),
      ]
      for (const charge of at % 2 === 0 ? both : both.reverse()) await charge()
    }
    expect(await chargedBy(limiter)).toBe(600)
    expect(await chargesIn(connection)).toEqual([KEY_1])
  })

  test.for([
    { begun: 1, later: FORMAT, key: KEY_1 },
    { begun: FORMAT, later: 1, key: KEY_2 },
  ])('of a month that began in format $begun stay in its form under format $later', async ({ begun, later, key }) => {
    await using connection = await redis.emptied()
    const [before, after] = [begun, later].map((format) => redisLimiter(connection, { format })) as [
      AuditableLimiter,
      AuditableLimiter,
    ]
    const [first, second] = [aManifest(), aManifest()]
    await before.complete(first, NEVER)
    await after.completeAll([first, second], NEVER)
    await before.completeAll([first, second], NEVER)
    expect([await chargedBy(before), await chargedBy(after)]).toEqual([2, 2])
    expect(await chargesIn(connection)).toEqual([key])
    const others = aManifest({ record: aRecord({ period: '2026-12' }) })
    await after.complete(others, NEVER)
    const next = `${(later === 1 ? KEY_1 : KEY_2).slice(0, -period.length)}2026-12`
    expect((await chargesIn(connection)).toSorted()).toEqual([key, next].toSorted())
  })

  test('count in the form of format 1 once the version before has begun the month again', async () => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { format: FORMAT })
    const [lost, again] = [aManifest(), aManifest()]
    const [total] = await limiter.completeAll([lost, again], NEVER)
    await chargeBefore(connection, again.render)
    // The audit sees the other count, and has all events read again.
    expect(await limiter.chargeTotal(account, period, NEVER)).toEqual({
      charged: 1,
      count: `${again.render.id}-before`,
    })
    expect(total).toMatchObject({ charged: 2, count: expect.stringMatching(`^${lost.render.id}-`) })
    expect(await limiter.completeAll([lost, again], NEVER)).toMatchObject([{ account, period, charged: 2 }])
  })

  test('are made for some renders of many at a time, so that others do not wait for all', async () => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection)
    await limiter.complete(aManifest(), NEVER)
    const manifests = Array.from({ length: 2 * ENDED_AT_ONCE + 1 }, () => aManifest())
    expect(await scriptCalls(connection, () => limiter.completeAll(manifests, NEVER))).toBe(3)
    expect(await chargedBy(limiter)).toBe(manifests.length + 1)
  })

  test('are made once in format 2, in buckets that stay small and take few bytes', async () => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { format: FORMAT })
    const manifests = Array.from({ length: 12_000 }, () => aManifest())
    let from = 0
    while (from < manifests.length) {
      // With some that are charged already, and some twice.
      const again = Array.from({ length: 50 }, () => manifests[randomInt(from + 1)]).flatMap((each) => each ?? [])
      const next = manifests.slice(from, from + 1 + randomInt(600))
      const totals = await limiter.completeAll([...again, ...next, ...next.slice(5)], NEVER)
      from += next.length
      expect(totals.at(-1)?.charged).toBe(from)
    }
    await Promise.all(manifests.slice(-500).map((manifest) => limiter.complete(manifest, NEVER)))
    expect(await chargedBy(limiter)).toBe(manifests.length)
    const lengths = (await bucketsIn(connection)).map(({ length }) => length / ENTRY_BYTES)
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(manifests.length)
    expect(lengths).toHaveLength(Math.ceil(manifests.length / BUCKET_RENDERS))
    // A bucket that is next to be divided has twice the average. Five deviations more are one in three million.
    expect(Math.max(...lengths)).toBeLessThan(2 * BUCKET_RENDERS + 5 * Math.sqrt(2 * BUCKET_RENDERS))
    const bytes = await connection.call((client) => client.memory('USAGE', KEY_2, 'SAMPLES', 0), NEVER)
    expect((bytes ?? 0) / manifests.length).toBeLessThan(13)
  })
})
