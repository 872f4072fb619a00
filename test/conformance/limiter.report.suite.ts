/** The promises of every limiter for its report: what an account has used, of which templates and on which days, and what is left. */
import { CHARGED_TEMPLATES_MAX, RATE_WINDOW_MS } from '@platen/contract/domain/limit.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import type { Limiter, Reservation } from '@platen/contract/port/limiter.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aFailure, aManifest, aRecord, aReservation, NEVER, NOON, recordOf } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import type { LimiterHarness } from './limiter.model.ts'

const DAY_MS = 24 * 60 * 60 * 1000

export function describeReport(name: string, makeHarness: () => Promise<LimiterHarness>): void {
  describe(`the report of a limiter: ${name}`, () => {
    let harness: LimiterHarness
    let limiter: Limiter
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      limiter = await harness.open()
    })

    const reportOf = (request: Reservation = aReservation()) => limiter.report(request, NEVER)
    const charge = (fields: Partial<RenderRecord>) => limiter.complete(aManifest({ record: aRecord(fields) }), NEVER)
    const template = (code: string) => {
      // A test may use any text as a code.
      return { code: code as TemplateCode, version: 1, digest: aRecord().template.digest }
    }

    test('has nothing but whole rates for an account that has done nothing', async () => {
      const { rates, ...rest } = await reportOf(aReservation({ limits: { renderLimitMonthly: 9 } }))
      expect(rest).toEqual({ limit: 9, usage: { charged: 0, reserved: 0 }, templates: [], days: [] })
      expect(rates.map(({ name, limit, remaining }) => [name, limit, remaining])).toEqual([
        ['syncRateLimitPerMinute', 60, 60],
        ['asyncRateLimitPerMinute', 600, 600],
        ['tenantSyncRateLimitPerMinute', 240, 240],
        ['tenantAsyncRateLimitPerMinute', 2400, 2400],
        ['htmlRateLimitPerMinute', 10, 10],
      ])
    })

    test('shows what is left of each rate that the renders of the caller count in, and takes nothing', async () => {
      const limits = { asyncRateLimitPerMinute: 5, rateLimitPerMinute: 4 }
      await limiter.reserve(aReservation({ limits }), NEVER)
      await limiter.reserve(aReservation({ limits, mode: 'sync', environment: 'test' }), NEVER)
      const leftOf = async (fields: Partial<Omit<Reservation, 'limits'>> = {}) =>
        (await reportOf(aReservation({ ...fields, limits }))).rates.map(({ remaining }) => remaining)
      expect(await leftOf()).toEqual([59, 4, 240, 19, 10, 3])
      expect(await leftOf()).toEqual([59, 4, 240, 19, 10, 3])
      expect(await leftOf({ environment: 'test' })).toEqual([59, 4, 239, 20, 10, 3])
      expect(await leftOf({ account: 'another' })).toEqual([60, 5, 240, 20, 10, 4])
      await harness.advance(2 * RATE_WINDOW_MS)
      expect(await leftOf()).toEqual([60, 5, 240, 20, 10, 4])
    })

    test('counts by template and by day what is charged, also after the next start', async () => {
      const { account, period } = aReservation()
      await charge({ template: template('invoice'), units: 2 })
      await charge({ template: template('letter'), units: 25, acceptedAt: NOON - 2 * DAY_MS })
      await charge({ template: template('invoice'), units: 1, acceptedAt: NOON - 2 * DAY_MS })
      await charge({ template: template('other-month'), period: '2026-12' })
      await charge({ template: template('other-account'), account: 'another' })
      await charge({ template: template('sandbox'), units: 0 })
      await limiter.complete(aManifest({ outcome: aFailure() }), NEVER)
      await limiter.reserve(aReservation({ units: 4 }), NEVER)
      const day = (at: number) => new Date(at).toISOString().slice(8, 10)
      const counts = {
        templates: [
          { name: 'invoice', renders: 2, units: 3 },
          { name: 'letter', renders: 1, units: 25 },
        ],
        days: [
          { name: day(NOON - 2 * DAY_MS), renders: 2, units: 26 },
          { name: day(NOON), renders: 1, units: 2 },
        ],
      }
      const request = aReservation({ account, period })
      expect(await reportOf(request)).toMatchObject({ ...counts, usage: { charged: 28, reserved: 4 } })
      if (harness.reopen === undefined) return
      limiter = await harness.reopen()
      expect(await reportOf(request)).toMatchObject({ ...counts, usage: { charged: 28, reserved: 0 } })
    })

    test('counts a render once, and the renders of so many templates', async () => {
      const record = aRecord({ template: template('twice') })
      await limiter.complete(aManifest({ record }), NEVER)
      await limiter.complete(aManifest({ record }), NEVER)
      for (let i = 1; i < CHARGED_TEMPLATES_MAX + 3; i++) await charge({ template: template(`t${i}`) })
      await charge({ template: template('t1') })
      const { templates, usage } = await reportOf()
      expect(usage.charged).toBe(CHARGED_TEMPLATES_MAX + 4)
      expect(templates).toHaveLength(CHARGED_TEMPLATES_MAX)
      expect(templates.slice(0, 2)).toEqual([
        { name: 'twice', renders: 1, units: 1 },
        { name: 't1', renders: 2, units: 2 },
      ])
    })

    test('forgets what a render reserved that has ended', async () => {
      const request = aReservation({ units: 3 })
      await limiter.reserve(request, NEVER)
      expect((await reportOf()).usage).toEqual({ charged: 0, reserved: 3 })
      await limiter.complete(aManifest({ record: recordOf(request), outcome: aFailure() }), NEVER)
      expect((await reportOf()).usage).toEqual({ charged: 0, reserved: 0 })
    })
  })
}
