/** The promises of every limiter to a batch: its renders are admitted together or not at all, and count as one request. */

import type { Limits } from '@platen/contract/domain/tenant.ts'
import type { Limiter, Reservation } from '@platen/contract/port/limiter.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aFailure, aManifest, anAbandonedManifest, aRenderId, aReservation, NEVER, recordOf } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { type Fields, kindOf, type LimiterHarness } from './limiter.model.ts'

const LOOSE = { asyncRateLimitPerMinute: 1000, htmlRateLimitPerMinute: 1000 }

export function describeBatches(name: string, makeHarness: () => Promise<LimiterHarness>): void {
  describe(`limiter: ${name}: a batch`, () => {
    let limiter: Limiter
    beforeEach(async () => {
      limiter = await ofTest(await makeHarness()).open()
    })

    const asked = (count: number, limits: Partial<Limits> = {}, fields: Fields = {}): Reservation => {
      const others = Array.from({ length: count - 1 }, () => aRenderId())
      return aReservation({ id: aRenderId(), others, ...fields, limits: { ...LOOSE, ...limits } })
    }
    const ask = (request: Reservation) => limiter.reserve(request, NEVER)
    const single = (limits: Partial<Limits> = {}) => aReservation({ id: aRenderId(), limits: { ...LOOSE, ...limits } })
    /** The reservation of one of the renders alone, as its record says it. */
    const oneOf = (request: Reservation, at: number) => ({
      ...request,
      id: request.others?.[at] ?? request.id,
      others: [],
    })
    const { account, period } = aReservation()
    const usage = () => limiter.usage(account, period, NEVER)

    test('holds the units of all of its renders, until each of them ends', async () => {
      const request = asked(3, {}, { units: 2 })
      expect((await ask(request)).usage).toEqual({ charged: 0, reserved: 6 })
      await limiter.confirm(recordOf(oneOf(request, 0)), NEVER)
      expect(await usage()).toEqual({ charged: 0, reserved: 6 })
      await limiter.complete(aManifest({ record: recordOf(oneOf(request, 0)) }), NEVER)
      expect(await usage()).toEqual({ charged: 2, reserved: 4 })
      const failed = aManifest({ record: recordOf(oneOf(request, 1)), outcome: aFailure() })
      await limiter.complete(failed, NEVER)
      expect(await usage()).toEqual({ charged: 2, reserved: 2 })
      await limiter.complete(aManifest({ record: recordOf(request) }), NEVER)
      expect(await usage()).toEqual({ charged: 4, reserved: 0 })
    })

    test('is refused as a whole one unit over the quota, and holds nothing then', async () => {
      const limits = { renderLimitMonthly: 9 }
      expect(await ask(asked(5, limits, { units: 2 }))).toMatchObject({ reason: 'quota', usage: { reserved: 0 } })
      expect(await usage()).toEqual({ charged: 0, reserved: 0 })
      expect(kindOf(await ask(asked(4, limits, { units: 2 })))).toBe('admitted')
      expect(kindOf(await ask(single(limits)))).toBe('admitted')
      expect(kindOf(await ask(single(limits)))).toBe('quota')
    })

    test('is reserved once, however often it is asked for', async () => {
      const request = asked(4)
      const decisions = await Promise.all(Array.from({ length: 10 }, () => ask(request)))
      for (const decision of decisions) expect(decision).toEqual(decisions[0])
      expect(await usage()).toEqual({ charged: 0, reserved: 4 })
    })

    test('is one request to the rates, and gives its place back when it is abandoned', async () => {
      const limits = { asyncRateLimitPerMinute: 2 }
      const request = asked(50, limits)
      expect((await ask(request)).rate.remaining).toBe(1)
      await limiter.complete(anAbandonedManifest(recordOf(request)), NEVER)
      expect((await ask(single(limits))).rate.remaining).toBe(1)
    })

    test('takes no share of the async lane', async () => {
      const limits = { asyncFairShare: 1 }
      const request = asked(3, limits)
      await ask(request)
      for (const at of [0, 1]) await limiter.confirm(recordOf(oneOf(request, at)), NEVER)
      expect(await ask(single(limits))).toMatchObject({ kind: 'admitted', lane: 'async' })
      expect(await ask(single(limits))).toMatchObject({ kind: 'admitted', lane: 'bulk' })
    })
  })
}
