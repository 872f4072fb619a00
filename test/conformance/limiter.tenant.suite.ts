/** The promises of every limiter for all keys of a tenant together: more keys must not multiply a rate. */
import { RATE_WINDOW_MS } from '@platen/contract/domain/limit.ts'
import type { KeyHash, Limits } from '@platen/contract/domain/tenant.ts'
import type { Decision, Limiter, Reservation } from '@platen/contract/port/limiter.ts'
import * as fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { anAbandonedManifest, aReservation, NEVER, recordOf } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { IS_LONG } from '../run/form.ts'
import { type Fields, kindOf, type LimiterHarness } from './limiter.model.ts'

export function describeTenantRates(name: string, makeHarness: () => Promise<LimiterHarness>): void {
  describe(`the rates of a tenant: ${name}`, () => {
    let harness: LimiterHarness
    let limiter: Limiter
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      limiter = await harness.open()
    })

    const ask = (limits: Partial<Limits>, fields: Fields = {}) =>
      limiter.reserve(aReservation({ ...fields, limits: { htmlRateLimitPerMinute: 1000, ...limits } }), NEVER)
    // Code that reads keys sets the brand. Any text works here.
    const keyOf = (at: number) => `key-${at}` as KeyHash
    /** Reserves renders, each with another key. */
    const askByMany = async (count: number, limits: Partial<Limits>, fields: Fields = {}) => {
      const decisions: Decision[] = []
      for (let at = 0; at < count; at++) decisions.push(await ask(limits, { ...fields, key: keyOf(at) }))
      return decisions
    }

    test.for<[Reservation['mode'], Partial<Limits>]>([
      ['sync', { tenantSyncRateLimitPerMinute: 7 }],
      ['async', { tenantAsyncRateLimitPerMinute: 7 }],
    ])('admit as many %s requests of fifty keys as the limit says', async ([mode, limits]) => {
      const decisions = await askByMany(50, limits, { mode })
      expect(decisions.map(kindOf)).toEqual([...Array(7).fill('admitted'), ...Array(43).fill('rate')])
      expect(decisions.at(-1)?.rate).toMatchObject({ limit: 7, remaining: 0 })
    })

    test.for<[Reservation['mode'], Partial<Limits>]>([
      ['sync', { syncRateLimitPerMinute: 2 }],
      ['async', { asyncRateLimitPerMinute: 2 }],
    ])('are four times that of a key in %s requests where the limits do not name them', async ([mode, limits]) => {
      const decisions = [await askByMany(5, limits, { mode }), await askByMany(5, limits, { mode })].flat()
      expect(decisions.map(kindOf)).toEqual([...Array(8).fill('admitted'), 'rate', 'rate'])
      expect(decisions.at(-1)?.rate).toMatchObject({ limit: 8, remaining: 0 })
    })

    test('count each mode, environment and account by itself, and both engines together', async () => {
      const limits = { tenantSyncRateLimitPerMinute: 1, tenantAsyncRateLimitPerMinute: 1 }
      expect(kindOf(await ask(limits))).toBe('admitted')
      const others: readonly [Fields, string][] = [
        [{ engine: 'html' }, 'rate'],
        [{ mode: 'sync' }, 'admitted'],
        [{ environment: 'test' }, 'admitted'],
        [{ account: 'another' }, 'admitted'],
      ]
      for (const [at, [fields, kind]] of others.entries())
        expect([fields, kindOf(await ask(limits, { ...fields, key: keyOf(at) }))]).toEqual([fields, kind])
    })

    test.for<[string, Partial<Limits>, object]>([
      ['the key', { asyncRateLimitPerMinute: 5 }, { limit: 5, remaining: 4 }],
      ['the tenant', { asyncRateLimitPerMinute: 5, tenantAsyncRateLimitPerMinute: 4 }, { limit: 4, remaining: 3 }],
      ['nothing at all', { asyncRateLimitPerMinute: 5, tenantAsyncRateLimitPerMinute: 0 }, { limit: 0, remaining: 0 }],
    ])('show the bucket with the least left: %s', async ([, limits, rate]) => {
      expect((await ask(limits)).rate).toMatchObject(rate)
    })

    test('get the place of an abandoned render back', async () => {
      const limits = { tenantAsyncRateLimitPerMinute: 1 }
      const request = aReservation({ limits })
      await limiter.reserve(request, NEVER)
      expect(kindOf(await ask(limits, { key: keyOf(1) }))).toBe('rate')
      await limiter.complete(anAbandonedManifest(recordOf(request)), NEVER)
      expect(kindOf(await ask(limits, { key: keyOf(1) }))).toBe('admitted')
    })

    test('hold in every rolling minute whichever key asks, and refuse nothing without need', async () => {
      const calls = fc.array(fc.tuple(fc.constantFrom(0, 0, 400, 3000, 20_000), fc.nat(9)), { maxLength: 100 })
      await fc.assert(
        fc.asyncProperty(calls, fc.integer({ min: 1, max: 3 }), async (asked, limit) => {
          await harness.advance(3 * RATE_WINDOW_MS)
          const admitted: { readonly at: number; readonly by: number }[] = []
          for (const [gap, by] of asked) {
            await harness.advance(gap)
            const now = harness.clock.now()
            const { kind } = await ask({ asyncRateLimitPerMinute: limit }, { key: keyOf(by) })
            const within = (ms: number) => admitted.filter(({ at }) => at >= now - ms)
            const own = (ms: number) => within(ms).filter((each) => each.by === by)
            if (kind === 'admitted') {
              admitted.push({ at: now, by })
              expect(within(RATE_WINDOW_MS).length).toBeLessThanOrEqual(4 * limit)
              expect(own(RATE_WINDOW_MS).length).toBeLessThanOrEqual(limit)
            } else {
              const isFull = [
                within(RATE_WINDOW_MS + 1000).length >= 4 * limit,
                own(RATE_WINDOW_MS + 1000).length >= limit,
              ]
              expect(isFull).toContain(true)
            }
          }
        }),
        { numRuns: IS_LONG ? 60 : 20 },
      )
    })
  })
}
