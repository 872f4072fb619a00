import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import { expect, test } from 'vitest'
import { overlay } from './limit-layer.ts'

const html = { ...DEFAULT_LIMITS, htmlEngineEnabled: true, javascriptEnabled: true }

test('a layer changes what it names and nothing else', () => {
  expect(overlay(html, { retentionDays: 1, renderLimitMonthly: 0 })).toEqual({
    limits: { ...html, retentionDays: 1, renderLimitMonthly: 0 },
  })
})

test.for([
  ['an html rate where there is no html', DEFAULT_LIMITS, { htmlRateLimitPerMinute: 1 }],
  ['page JavaScript where there is no html', DEFAULT_LIMITS, { javascriptEnabled: true }],
  ['html switched off and given a rate at once', html, { htmlEngineEnabled: false, htmlRateLimitPerMinute: 1 }],
  ['html that costs more than a month has', html, { htmlEngineRenderMultiplier: 25, renderLimitMonthly: 24 }],
] as const)('%s is a contradiction', ([, base, layer]) => {
  expect(overlay(base, layer)).toEqual({ contradiction: expect.any(String) })
})

test.for([
  ['html switched off for one tenant of an html plan', html, { htmlEngineEnabled: false }],
  ['an html rate of nothing where there is no html', DEFAULT_LIMITS, { htmlRateLimitPerMinute: 0 }],
  ['one html render a month', html, { htmlEngineRenderMultiplier: 25, renderLimitMonthly: 25 }],
  ['a quota of nothing', html, { htmlEngineRenderMultiplier: 25, renderLimitMonthly: 0 }],
  ['dear html that is not to be had', DEFAULT_LIMITS, { htmlEngineRenderMultiplier: 25, renderLimitMonthly: 24 }],
] as const)('%s makes sense', ([, base, layer]) => {
  expect(overlay(base, layer)).toEqual({ limits: { ...base, ...layer } })
})
