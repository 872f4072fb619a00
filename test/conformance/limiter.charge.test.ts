/** Tests the charged renders in Redis: what they cost, and that a month is exact. */
import { randomInt } from 'node:crypto'
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { ENDED_AT_ONCE } from '@platen/adapters/redis/limit.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { limiterPrefix } from '@platen/adapters/redis/limiter-settings.ts'
import type { AuditableLimiter } from '@platen/contract/port/limiter.ts'
import { expect, test } from 'vitest'
import { aManifest, aRecord, NEVER } from '../fixture/build.ts'
import { describeOnRedis, scriptCalls } from './redis-harness.ts'

const { account, period } = aRecord()
const KEY = `${limiterPrefix(account)}:charges:${period}`
/** Of an entry, and renders in a bucket on average. */
const [ENTRY_BYTES, BUCKET_RENDERS] = [10, 64]

const chargedBy = async (limiter: AuditableLimiter) => (await limiter.usage(account, period, NEVER)).charged

/** The buckets, by name. */
async function bucketsIn(connection: RedisConnection): Promise<readonly Buffer[]> {
  const fields = await connection.call((client) => client.hgetallBuffer(KEY), NEVER)
  return Object.entries(fields).flatMap(([name, entries]) => (/^\d+$/.test(name) ? [entries] : []))
}

describeOnRedis('charges in Redis', (redis) => {
  test('are made for some renders of many at a time, so that others do not wait for all', async () => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection)
    await limiter.complete(aManifest(), NEVER)
    const manifests = Array.from({ length: 2 * ENDED_AT_ONCE + 1 }, () => aManifest())
    expect(await scriptCalls(connection, () => limiter.completeAll(manifests, NEVER))).toBe(3)
    expect(await chargedBy(limiter)).toBe(manifests.length + 1)
  })

  test('are made once, in buckets that stay small and take few bytes', async () => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection)
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
    const bytes = await connection.call((client) => client.memory('USAGE', KEY, 'SAMPLES', 0), NEVER)
    expect((bytes ?? 0) / manifests.length).toBeLessThan(13)
  })
})
