/** The promises of every limiter. The doc comments of the port describe them. */
import { randomUUID } from 'node:crypto'
import {
  QUEUE_AGE_MS_MAX,
  RATE_BUCKETS_SWEPT_EVERY,
  RATE_WINDOW_MS,
  RESERVATION_MS,
} from '@platen/contract/domain/limit.ts'
import type { Ended } from '@platen/contract/domain/render.ts'
import type { KeyHash, Limits } from '@platen/contract/domain/tenant.ts'
import type { Decision, Limiter, Reservation } from '@platen/contract/port/limiter.ts'
import * as fc from 'fast-check'
import { assert, beforeEach, describe, expect, test } from 'vitest'
import { aFailure, aManifest, anAbandonedManifest, aReservation, NEVER, recordOf } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { IS_LONG } from '../run/form.ts'
import { anyStep, type Fields, kindOf, type LimiterHarness, walk } from './limiter.model.ts'

// Code that reads keys sets the brand. Any text works here.
const OTHER_KEY = 'f'.repeat(64) as KeyHash
const LOOSE = { asyncRateLimitPerMinute: 1000, syncRateLimitPerMinute: 1000, htmlRateLimitPerMinute: 1000 }

export function describeLimiter(name: string, makeHarness: () => Promise<LimiterHarness>): void {
  describe(`limiter: ${name}`, () => {
    let harness: LimiterHarness
    let limiter: Limiter
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      limiter = await harness.open()
    })

    /** Reserves a new render, unless the fields name one. */
    const ask = (limits: Partial<Limits>, fields: Fields = {}) =>
      limiter.reserve(aReservation({ ...fields, limits: { ...LOOSE, ...limits } }), NEVER)
    const kindsOf = async (asked: readonly Promise<Decision>[]) => (await Promise.all(asked)).map(kindOf)
    const { account, period } = aReservation()
    const usage = (of: { account?: string; period?: string } = {}) =>
      limiter.usage(of.account ?? account, of.period ?? period, NEVER)

    describe('the rates', () => {
      test.for<[string, Partial<Limits>, Fields, [Fields, string][]]>([
        [
          'a key in a mode',
          { asyncRateLimitPerMinute: 1, syncRateLimitPerMinute: 1 },
          {},
          [
            [{}, 'rate'],
            [{ account: 'another' }, 'admitted'],
            [{ engine: 'html' }, 'rate'],
            [{ key: OTHER_KEY }, 'admitted'],
            [{ mode: 'sync' }, 'admitted'],
          ],
        ],
        [
          'a key in the other mode',
          { syncRateLimitPerMinute: 1, asyncRateLimitPerMinute: 1 },
          { mode: 'sync' },
          [
            [{ mode: 'sync' }, 'rate'],
            [{ mode: 'sync', key: OTHER_KEY }, 'admitted'],
            [{}, 'admitted'],
          ],
        ],
        [
          'react_pdf of a tenant in an environment',
          { rateLimitPerMinute: 1, htmlRateLimitPerMinute: 1 },
          {},
          [
            [{ key: OTHER_KEY }, 'rate'],
            [{ mode: 'sync' }, 'rate'],
            [{ engine: 'html' }, 'admitted'],
            [{ environment: 'test' }, 'admitted'],
            [{ account: 'another' }, 'admitted'],
          ],
        ],
        [
          'html of a tenant in an environment',
          { htmlRateLimitPerMinute: 1, rateLimitPerMinute: 1 },
          { engine: 'html' },
          [
            [{ engine: 'html', key: OTHER_KEY }, 'html_rate'],
            [{ engine: 'html', mode: 'sync' }, 'html_rate'],
            [{}, 'admitted'],
            [{ engine: 'html', environment: 'test' }, 'admitted'],
            [{ engine: 'html', account: 'another' }, 'admitted'],
          ],
        ],
      ])('have a bucket for %s', async ([, limits, first, others]) => {
        expect(kindOf(await ask(limits, first))).toBe('admitted')
        for (const [fields, kind] of others) expect([fields, kindOf(await ask(limits, fields))]).toEqual([fields, kind])
      })

      test('have no bucket for react_pdf of a tenant whose plan names none', async () => {
        const asked = Array.from({ length: 100 }, (_, i) => ask({}, { key: `${i}` as KeyHash }))
        expect(new Set(await kindsOf(asked))).toEqual(new Set(['admitted']))
      })

      test('admit exactly 60 of 200 at once where the limit is 60', async () => {
        const kinds = await kindsOf(Array.from({ length: 200 }, () => ask({ asyncRateLimitPerMinute: 60 })))
        expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(60)
        expect(kinds.filter((kind) => kind === 'rate')).toHaveLength(140)
      })

      test('refuse by the longer of two waits, as the key or the tenant where that is one of them', async () => {
        const limits = { asyncRateLimitPerMinute: 1, htmlRateLimitPerMinute: 1 }
        const html = { engine: 'html', environment: 'live' } as const
        await ask(limits, { ...html, key: OTHER_KEY })
        await harness.advance(10_000)
        await ask(limits, {})
        const decision = await ask(limits, html)
        assert(decision.kind === 'refused' && decision.reason === 'rate')
        await harness.advance(decision.retryAfterMs - 1)
        expect(await ask(limits, html)).toMatchObject({ reason: 'rate', retryAfterMs: 1 })
        await harness.advance(1)
        expect(kindOf(await ask(limits, html))).toBe('admitted')
      })

      test.for<[string, Partial<Limits>, Fields, object]>([
        ['the key', { asyncRateLimitPerMinute: 5, rateLimitPerMinute: 9 }, {}, { limit: 5, remaining: 4 }],
        ['the tenant', { asyncRateLimitPerMinute: 9, rateLimitPerMinute: 5 }, {}, { limit: 5, remaining: 4 }],
        ['html', { htmlRateLimitPerMinute: 2 }, { engine: 'html' }, { limit: 2, remaining: 1 }],
        ['the quota', { asyncRateLimitPerMinute: 5, renderLimitMonthly: 0 }, {}, { limit: 5, remaining: 5 }],
        ['a limit of 0', { asyncRateLimitPerMinute: 0, rateLimitPerMinute: 3 }, {}, { limit: 0, remaining: 0 }],
      ])('show the bucket with the least left: %s', async ([, limits, fields, rate]) => {
        expect((await ask(limits, fields)).rate).toMatchObject(rate)
      })

      test('show the smaller limit where two buckets have as much left', async () => {
        await ask({}, { engine: 'react_pdf' })
        const { rate } = await ask({ asyncRateLimitPerMinute: 3, htmlRateLimitPerMinute: 2 }, { engine: 'html' })
        expect(rate).toMatchObject({ limit: 2, remaining: 1 })
      })

      test('show when all of the bucket is free again', async () => {
        const limits = { asyncRateLimitPerMinute: 3 }
        await ask(limits)
        await harness.advance(7000)
        const { resetAt } = (await ask(limits)).rate
        await harness.advance(resetAt - harness.clock.now() - 1)
        expect((await ask({ ...limits, renderLimitMonthly: 0 })).rate.remaining).toBe(2)
        await harness.advance(1)
        expect((await ask({ ...limits, renderLimitMonthly: 0 })).rate.remaining).toBe(3)
      })

      test('refuse always where the limit is 0, for a window', async () => {
        for (const at of [0, RATE_WINDOW_MS]) {
          await harness.advance(at)
          const decision = await ask({ asyncRateLimitPerMinute: 0 })
          expect(decision).toMatchObject({ reason: 'rate', retryAfterMs: RATE_WINDOW_MS })
        }
      })

      test('count a lowered or raised limit from the next request on', async () => {
        for (const _ of [1, 2, 3]) await ask({ asyncRateLimitPerMinute: 3 })
        expect(kindOf(await ask({ asyncRateLimitPerMinute: 2 }))).toBe('rate')
        expect((await ask({ asyncRateLimitPerMinute: 5 })).rate).toMatchObject({ limit: 5, remaining: 1 })
        expect(kindOf(await ask({ asyncRateLimitPerMinute: 4 }))).toBe('rate')
      })

      test('and everything else are untouched by a refusal', async () => {
        const strict = { asyncRateLimitPerMinute: 2, htmlRateLimitPerMinute: 0, renderLimitMonthly: 1 }
        expect(kindOf(await ask(strict, { engine: 'html' }))).toBe('html_rate')
        expect(kindOf(await ask(strict, { units: 2 }))).toBe('quota')
        expect(kindOf(await ask({ asyncRateLimitPerMinute: 0 }))).toBe('rate')
        expect(await usage()).toEqual({ charged: 0, reserved: 0 })
        expect(await ask({ ...strict, asyncFairShare: 1 })).toMatchObject({ lane: 'async', rate: { remaining: 1 } })
      })

      test('are kept however many others ask meanwhile', async () => {
        await ask({ asyncRateLimitPerMinute: 1 })
        for (let i = 0; i < RATE_BUCKETS_SWEPT_EVERY; i++) await ask({}, { key: `${i}` as KeyHash })
        expect(kindOf(await ask({ asyncRateLimitPerMinute: 1 }))).toBe('rate')
      })

      test('come before the quota', async () => {
        expect(kindOf(await ask({ asyncRateLimitPerMinute: 0, renderLimitMonthly: 0 }))).toBe('rate')
      })

      test('get the place of an abandoned render back, and of no other', async () => {
        const limits = { asyncRateLimitPerMinute: 2, rateLimitPerMinute: 2 }
        const [kept, abandoned] = [aReservation({ limits }), aReservation({ limits })]
        await limiter.reserve(kept, NEVER)
        await harness.advance(3000)
        await limiter.reserve(abandoned, NEVER)
        await limiter.confirm(recordOf(abandoned), NEVER)
        await limiter.complete(failed(kept), NEVER)
        expect(kindOf(await ask(limits))).toBe('rate')
        await limiter.complete(anAbandonedManifest(recordOf(abandoned)), NEVER)
        await limiter.complete(anAbandonedManifest(recordOf(abandoned)), NEVER)
        expect(await kindsOf([ask(limits), ask(limits)])).toEqual(['admitted', 'rate'])
      })

      test('hold in every rolling minute and refuse nothing without need, whenever requests come', async () => {
        const arrivals = fc.array(
          fc.tuple(fc.oneof(fc.constant(0), fc.nat(3000), fc.nat(70_000)), fc.integer({ min: 1, max: 5 })),
          { maxLength: 80 },
        )
        await fc.assert(
          fc.asyncProperty(arrivals, async (calls) => {
            const caller = { key: randomUUID() as KeyHash, account: randomUUID() }
            const admitted: number[] = []
            for (const [gap, limit] of calls) {
              await harness.advance(gap)
              const now = harness.clock.now()
              const { kind } = await ask({ asyncRateLimitPerMinute: limit }, caller)
              if (kind === 'admitted') admitted.push(now)
              const within = (ms: number) => admitted.filter((at) => at >= now - ms).length
              if (kind === 'admitted') expect(within(RATE_WINDOW_MS)).toBeLessThanOrEqual(limit)
              else expect(within(RATE_WINDOW_MS + 1000)).toBeGreaterThanOrEqual(limit)
            }
          }),
          { numRuns: IS_LONG ? 60 : 20 },
        )
      })

      test('name a wait that is enough and not a moment too long', async () => {
        const gaps = fc.array(fc.nat(9000), { minLength: 1, maxLength: 20 })
        await fc.assert(
          fc.asyncProperty(gaps, fc.integer({ min: 1, max: 4 }), async (waits, limit) => {
            const limits = { asyncRateLimitPerMinute: 4, htmlRateLimitPerMinute: limit }
            const fields = { key: randomUUID() as KeyHash, account: randomUUID(), engine: 'html' } as const
            for (const ms of waits) {
              await harness.advance(ms)
              const decision = await ask(limits, fields)
              if (decision.kind === 'admitted') continue
              assert(decision.reason !== 'quota')
              await harness.advance(decision.retryAfterMs - 1)
              expect((await ask(limits, fields)).kind).toBe('refused')
              await harness.advance(1)
              expect((await ask(limits, fields)).kind).toBe('admitted')
            }
          }),
          { numRuns: IS_LONG ? 60 : 20 },
        )
      })
    })

    describe('a reservation', () => {
      test('is made once however often it is asked for', async () => {
        const request = aReservation({ units: 3, limits: { asyncFairShare: 1 } })
        const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.reserve(request, NEVER)))
        await limiter.confirm(recordOf(request), NEVER)
        decisions.push(await limiter.reserve(request, NEVER))
        for (const decision of decisions) expect(decision).toEqual(decisions[0])
        expect(await usage()).toEqual({ charged: 0, reserved: 3 })
        expect((await ask({ asyncRateLimitPerMinute: 9 })).rate.remaining).toBe(7)
      })

      test.for<[string, number | undefined, number[], number, string]>([
        ['takes the last unit', 3, [2], 1, 'admitted'],
        ['is refused one unit over', 3, [2], 2, 'quota'],
        ['is refused where nothing is allowed', 0, [], 1, 'quota'],
        ['of no units fits always', 0, [], 0, 'admitted'],
        ['of no units fits over a lowered quota', 1, [2], 0, 'admitted'],
        ['is never refused without a quota', undefined, [1000, 1000], 1_000_000, 'admitted'],
      ])('%s', async ([, renderLimitMonthly, before, units, kind]) => {
        for (const some of before) await ask({}, { units: some })
        const limits = renderLimitMonthly === undefined ? {} : { renderLimitMonthly }
        expect(kindOf(await ask(limits, { units }))).toBe(kind)
      })

      test('that is refused by the quota is told what is used of it', async () => {
        const charged = aReservation({ units: 4 })
        await limiter.complete(succeeded(charged), NEVER)
        await ask({}, { units: 3 })
        expect(await ask({ renderLimitMonthly: 7 })).toMatchObject({
          reason: 'quota',
          limit: 7,
          usage: { charged: 4, reserved: 3 },
        })
      })

      test('counts for its account and month alone', async () => {
        const limits = { renderLimitMonthly: 1 }
        expect(kindOf(await ask(limits))).toBe('admitted')
        expect(kindOf(await ask(limits, { account: 'another' }))).toBe('admitted')
        expect(kindOf(await ask(limits, { period: '2026-12' }))).toBe('admitted')
        expect(kindOf(await ask(limits))).toBe('quota')
        expect(await usage({ period: '2026-12' })).toEqual({ charged: 0, reserved: 1 })
        expect(await usage({ period: '2026-10' })).toEqual({ charged: 0, reserved: 0 })
      })

      test('lapses unless it is confirmed, and a confirmed one if its render is never reported, not a moment before', async () => {
        const [left, confirmed] = [aReservation({ units: 2 }), aReservation({ units: 3 })]
        await limiter.reserve(left, NEVER)
        await limiter.reserve(confirmed, NEVER)
        await limiter.confirm(recordOf(confirmed), NEVER)
        await harness.advance(RESERVATION_MS - 1)
        expect(await usage()).toEqual({ charged: 0, reserved: 5 })
        await harness.advance(1)
        expect(await usage()).toEqual({ charged: 0, reserved: 3 })
        await harness.advance(QUEUE_AGE_MS_MAX - RESERVATION_MS - 1)
        expect(await usage()).toEqual({ charged: 0, reserved: 3 })
        await harness.advance(1)
        expect(await usage()).toEqual({ charged: 0, reserved: 0 })
      })

      test('that has lapsed is created again by its confirmation, whatever is left', async () => {
        const limits = { renderLimitMonthly: 2 }
        const lapsed = aReservation({ units: 2 })
        await limiter.reserve(lapsed, NEVER)
        await harness.advance(RESERVATION_MS)
        expect(kindOf(await ask(limits, { units: 2 }))).toBe('admitted')
        await limiter.confirm(recordOf(lapsed), NEVER)
        await limiter.confirm(recordOf(lapsed), NEVER)
        expect(await usage()).toEqual({ charged: 0, reserved: 4 })
      })

      test('is charged to its own month when its render succeeds, once, and freed when it fails', async () => {
        const [good, bad] = [aReservation({ units: 5 }), aReservation({ units: 7 })]
        for (const request of [good, bad]) {
          await limiter.reserve(request, NEVER)
          await limiter.confirm(recordOf(request), NEVER)
        }
        await harness.advance(20 * 24 * 3_600_000)
        await Promise.all(Array.from({ length: 20 }, () => limiter.complete(succeeded(good), NEVER)))
        await limiter.complete(failed(bad), NEVER)
        for (const request of [good, bad]) await limiter.confirm(recordOf(request), NEVER)
        expect(await usage()).toEqual({ charged: 5, reserved: 0 })
      })

      test('that has lapsed or was never made is charged all the same', async () => {
        const [lapsed, unknown] = [aReservation({ units: 2 }), aReservation({ units: 3 })]
        await limiter.reserve(lapsed, NEVER)
        await harness.advance(RESERVATION_MS)
        for (const request of [lapsed, unknown, lapsed, unknown]) await limiter.complete(succeeded(request), NEVER)
        expect(await usage()).toEqual({ charged: 5, reserved: 0 })
      })
    })

    describe('the lane', () => {
      const lanes = async (count: number, fields: Fields = {}, asyncFairShare = 2) => {
        const given = []
        for (let i = 0; i < count; i++) given.push(await ask({ asyncFairShare }, fields))
        return given.map((decision) => (decision.kind === 'admitted' ? decision.lane : decision.reason))
      }

      test('is async for the fair share of an account and engine, then bulk, and sync for sync', async () => {
        expect(await lanes(4)).toEqual(['async', 'async', 'bulk', 'bulk'])
        expect(await lanes(1, { environment: 'test', units: 0 })).toEqual(['bulk'])
        expect(await lanes(3, { engine: 'html' })).toEqual(['async', 'async', 'bulk'])
        expect(await lanes(3, { account: 'another' })).toEqual(['async', 'async', 'bulk'])
        expect(await lanes(3, { account: 'third', mode: 'sync' })).toEqual(['sync', 'sync', 'sync'])
        expect(await lanes(1, { account: 'third' })).toEqual(['async'])
        expect(await lanes(1, {}, 5)).toEqual(['bulk'])
        expect(await lanes(1, {}, 7)).toEqual(['async'])
      })

      test.for<[string, (request: Reservation) => Promise<void>]>([
        ['succeeded', (request) => limiter.complete(succeeded(request), NEVER)],
        ['failed', (request) => limiter.complete(failed(request), NEVER)],
        ['was never queued', () => harness.advance(RESERVATION_MS)],
        [
          'was queued and never reported again',
          async (request) => {
            await limiter.confirm(recordOf(request), NEVER)
            await harness.advance(QUEUE_AGE_MS_MAX - 1)
            expect(await lanes(1, {}, 1)).toEqual(['bulk'])
            await harness.advance(RESERVATION_MS)
          },
        ],
      ])('is async again once the render before has %s', async ([, end]) => {
        const request = aReservation()
        await limiter.reserve(request, NEVER)
        await end(request)
        expect(await lanes(1, {}, 1)).toEqual(['async'])
      })
    })

    test('does nothing for a caller that has gone already', async () => {
      const reason = new Error('gone')
      const gone = AbortSignal.abort(reason)
      const request = aReservation()
      await expect(limiter.reserve(request, gone)).rejects.toBe(reason)
      await expect(limiter.confirm(recordOf(request), gone)).rejects.toBe(reason)
      await expect(limiter.complete(succeeded(request), gone)).rejects.toBe(reason)
      await expect(limiter.usage(account, period, gone)).rejects.toBe(reason)
      expect(await usage()).toEqual({ charged: 0, reserved: 0 })
    })

    test('agrees with a plain model on quota and lanes, whatever happens in whatever order', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyStep, { maxLength: 60 }), async (steps) => {
          limiter = await walk(harness, limiter, steps)
        }),
        { numRuns: IS_LONG ? 100 : 25 },
      )
    })
  })
}

function succeeded(request: Reservation): Ended {
  return aManifest({ record: recordOf(request) })
}

function failed(request: Reservation): Ended {
  return aManifest({ record: recordOf(request), outcome: aFailure() })
}
