/** Tests promises of the limiter in Redis beyond its port, for several processes and for operators of Redis. */

import { CHARGES_KEPT_MS, LIMITER_SETTINGS_KEPT_MS } from '@platen/adapters/redis/limit.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { settingsKey, writeLimits } from '@platen/adapters/redis/limiter-settings.ts'
import { DEFAULT_LIMITS, type KeyHash, type Limits } from '@platen/contract/domain/tenant.ts'
import type { Reservation } from '@platen/contract/port/limiter.ts'
import { expect, test } from 'vitest'
import { aFailure, aManifest, anAbandonedManifest, aReservation, NOON, recordOf } from '../fixture/build.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { describeOnRedis } from './redis-harness.ts'

const LIMIT = { asyncRateLimitPerMinute: 60 }

describeOnRedis('the limiter in Redis', (redis) => {
  test('admits exactly 60 of 200 over three connections at once where the limit is 60', async ({ signal }) => {
    await using one = await redis.emptied()
    await using two = await redis.connect()
    await using three = await redis.connect()
    // All of them use one clock: that of Redis.
    const limiters = [one, two, three].map((connection) => redisLimiter(connection))
    const asked = Array.from({ length: 200 }, () => aReservation({ limits: LIMIT }))
    const decisions = await Promise.all(
      limiters.flatMap((limiter, i) =>
        asked.filter((_, at) => at % limiters.length === i).map((request) => limiter.reserve(request, signal)),
      ),
    )
    const kinds = decisions.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(60)
    expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(140)
  })

  test('goes by limits that are published and newer than those it is asked with', async ({ signal }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection)
    const limitAsked = async (revision: number) =>
      (await limiter.reserve(aReservation({ limits: LIMIT, revision }), signal)).rate.limit
    const publish = async (revision: number, asyncRateLimitPerMinute: number) => {
      const { account, limits } = aReservation({ limits: { asyncRateLimitPerMinute } })
      await writeLimits(connection, { revision, limits: new Map([[account, limits]]) }, signal)
      return settingsKey(account)
    }
    expect(await limitAsked(1)).toBe(60)
    const key = await publish(2, 7)
    expect([await limitAsked(1), await limitAsked(2), await limitAsked(3)]).toEqual([7, 60, 60])
    await publish(3, 8)
    expect([await limitAsked(1), await limitAsked(2), await limitAsked(3)]).toEqual([8, 8, 60])
    const left = await connection.call((client) => client.pttl(key), signal)
    expect(left > 0 && left <= LIMITER_SETTINGS_KEPT_MS).toBe(true)
    await connection.call((client) => client.hset(key, { limits: '{"async' }), signal)
    expect(await limitAsked(1)).toBe(60)
  })

  test('takes the default of a limit that an older operator did not write', async ({ signal }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock: manualClock(NOON) })
    const { account, limits } = aReservation({ limits: { asyncRateLimitPerMinute: 7, asyncFairShare: 9 } })
    for (const name of Object.keys(DEFAULT_LIMITS)) {
      const older = Object.fromEntries(Object.entries(limits).filter(([limit]) => limit !== name))
      // An operator that does not know the limit has written these.
      await writeLimits(connection, { revision: 2, limits: new Map([[account, older as unknown as Limits]]) }, signal)
      const decision = await limiter.reserve(aReservation({ limits: LIMIT, revision: 1 }), signal)
      const rate = { limit: name === 'asyncRateLimitPerMinute' ? DEFAULT_LIMITS.asyncRateLimitPerMinute : 7 }
      expect([name, decision]).toMatchObject([name, { kind: 'admitted', rate }])
      await connection.call((client) => client.flushall(), signal)
    }
  })

  test('takes four times the rate of a key where the limits that are published name no rate of the tenant', async ({
    signal,
  }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock: manualClock(NOON) })
    const { account, limits } = aReservation({ limits: { asyncRateLimitPerMinute: 1 } })
    await writeLimits(connection, { revision: 2, limits: new Map([[account, limits]]) }, signal)
    const asked = { asyncRateLimitPerMinute: 9, tenantAsyncRateLimitPerMinute: 9 }
    const kinds: string[] = []
    for (let at = 0; at < 6; at++) {
      // Code that reads keys sets the brand. Any text works here.
      const request = aReservation({ key: `key-${at}` as KeyHash, limits: asked })
      kinds.push((await limiter.reserve(request, signal)).kind)
    }
    expect(kinds).toEqual([...Array(4).fill('admitted'), 'refused', 'refused'])
  })

  test('tells the time by Redis where it has no clock', async ({ signal }) => {
    await using connection = await redis.emptied()
    const [before, decision, after] = [
      await connection.call((client) => client.time(), signal),
      await redisLimiter(connection).reserve(aReservation({ limits: LIMIT }), signal),
      await connection.call((client) => client.time(), signal),
    ]
    const freeAt = ([seconds]: readonly unknown[]) => (Number(seconds) + 61) * 1000
    expect(decision.rate.resetAt).toBeGreaterThanOrEqual(freeAt(before))
    expect(decision.rate.resetAt).toBeLessThanOrEqual(freeAt(after))
  })

  test('goes on where Redis has forgotten the script', async ({ signal }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock: manualClock(NOON) })
    const request = aReservation({ units: 3 })
    await limiter.reserve(request, signal)
    await connection.call((client) => client.script('FLUSH'), signal)
    expect(await limiter.usage(request.account, request.period, signal)).toEqual({ charged: 0, reserved: 3 })
  })

  test('leaves no key that does not expire, nor one outside of the hash slot of its account', async ({ signal }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock: manualClock(NOON) })
    const limits = { ...LIMIT, rateLimitPerMinute: 60, htmlRateLimitPerMinute: 60 }
    const [held, charged, failed, abandoned] = [1, 2, 3, 4].map((units) =>
      aReservation({ account: 'only', engine: units % 2 ? 'html' : 'react_pdf', units, limits }),
    )
    for (const request of [held, charged, failed, abandoned]) if (request) await limiter.reserve(request, signal)
    if (held) await limiter.confirm(recordOf(held), signal)
    if (charged) await limiter.complete(aManifest({ record: recordOf(charged) }), signal)
    if (failed) await limiter.complete(aManifest({ record: recordOf(failed), outcome: aFailure() }), signal)
    if (abandoned) await limiter.complete(anAbandonedManifest(recordOf(abandoned)), signal)

    const keys = await connection.call((client) => client.keys('*'), signal)
    expect(keys.map((key) => key.replace(/^platen:limiter:{only}:(\w+).*$/, '$1')).toSorted()).toEqual([
      'charges',
      'ended',
      'holdings',
      'lapses',
      'rate',
      'rate',
      'rate',
      'rate',
      'sums',
    ])
    for (const key of keys) {
      const left = await connection.call((client) => client.pttl(key), signal)
      expect([key, left > 0 && left <= CHARGES_KEPT_MS]).toEqual([key, true])
    }
  })

  test('has nothing left of an account but its charges and what ended when all has ended', async ({ signal }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock: manualClock(NOON) })
    const requests = Array.from({ length: 50 }, (_, i) => aReservation({ units: i % 3 }))
    for (const request of requests) await limiter.reserve(request, signal)
    for (const request of requests) await limiter.complete(aManifest({ record: recordOf(request) }), signal)
    const keys = await connection.call((client) => client.keys('*'), signal)
    expect(keys.filter((key) => /:(holdings|lapses|sums)$/.test(key))).toEqual([])
  })

  test('charges a render once, whatever of what it knows is lost in between', async ({ signal }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock: manualClock(NOON) })
    const requests = Array.from({ length: 1000 }, () => aReservation({ units: 2 }))
    const [{ account, period }] = requests as [Reservation]
    const failed = recordOf(aReservation({ units: 2 }))
    const settleAll = () => {
      const ends = [
        ...requests.map((one) => aManifest({ record: recordOf(one) })),
        aManifest({ record: failed, outcome: aFailure() }),
      ]
      return Promise.all(ends.map((manifest) => limiter.complete(manifest, signal)))
    }
    const charged = async () => (await limiter.usage(account, period, signal)).charged
    await settleAll()
    const keys = await connection.call((client) => client.keys('*'), signal)
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      await connection.call((client) => client.flushall(), signal)
      await settleAll()
      await settleAll()
      expect(await charged()).toBe(2000)
      await connection.call((client) => client.del(key), signal)
      await settleAll()
      expect([key, await charged()]).toEqual([key, 2000])
    }
  })

  test('completes many renders in few calls as it does one after the other', async ({ signal }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock: manualClock(NOON) })
    const reservations = Array.from({ length: 40 }, (_, i) => {
      const limits = { ...LIMIT, rateLimitPerMinute: 60 }
      return aReservation({ account: `account-${Math.floor(i / 10)}`, units: i % 3, limits })
    })
    for (const request of reservations) await limiter.reserve(request, signal)
    const ends = reservations.map((request, i) => {
      const record = recordOf(request)
      if (i % 5 === 4) return anAbandonedManifest(record)
      return aManifest({ record, ...(i % 5 === 3 && { outcome: aFailure() }) })
    })
    // Some are there twice, and some are completed already.
    for (const manifest of ends.slice(0, 10)) await limiter.complete(manifest, signal)
    await limiter.completeAll([...ends, ...ends.slice(20)], signal)
    await limiter.completeAll(ends, signal)
    await limiter.completeAll([], signal)

    for (let at = 0; at < 40; at += 10) {
      const [first, ...others] = reservations.slice(at, at + 10) as [Reservation, ...Reservation[]]
      const charged = [first, ...others].reduce((sum, { units }, i) => sum + (i % 5 < 3 ? units : 0), 0)
      const report = await limiter.report(first, signal)
      expect(report.usage).toEqual({ charged, reserved: 0 })
      expect(report.templates.reduce((sum, { units }) => sum + units, 0)).toBe(charged)
      expect(report.days.reduce((sum, { units }) => sum + units, 0)).toBe(charged)
      // Two of the ten were abandoned, and gave their places in the rate back.
      expect(report.rates.map(({ limit, remaining }) => limit - remaining)).toContain(8)
    }
  })

  test('takes few bytes for a render that was charged', async ({ signal }) => {
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock: manualClock(NOON) })
    const count = 10_000
    const [{ account, period }] = [aReservation()]
    for (let i = 0; i < count; i += 1000) {
      const thousand = Array.from({ length: 1000 }, () => aManifest({ record: recordOf(aReservation()) }))
      await Promise.all(thousand.map((manifest) => limiter.complete(manifest, signal)))
    }
    expect((await limiter.usage(account, period, signal)).charged).toBe(count)
    const keys = await connection.call((client) => client.keys('*'), signal)
    expect(keys).toHaveLength(1)
    const bytes = await connection.call((client) => client.memory('USAGE', keys[0] ?? '', 'SAMPLES', 0), signal)
    process.stdout.write(`${((bytes ?? 0) / count).toFixed(1)} bytes a render\n`)
    expect((bytes ?? 0) / count).toBeLessThan(20)
  })
})
