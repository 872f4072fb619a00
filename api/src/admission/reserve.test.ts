import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { RESERVATION_MS } from '@platen/contract/domain/limit.ts'
import type { Limits } from '@platen/contract/domain/tenant.ts'
import type { Limiter, Usage } from '@platen/contract/port/limiter.ts'
import type { RenderQueue } from '@platen/contract/port/render-queue.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { type Api, anApi, isQueueEmpty, queued, TEST_KEY } from '../../../test/fixture/api.ts'
import { aReply, aTemplate, aTenant, NEVER, NOON } from '../../../test/fixture/build.ts'

const SYNC = { template: 'invoice', data: {} }
const ASYNC = { ...SYNC, mode: 'async' }
const HTML = { ...ASYNC, engine: 'html' }
const PDF = Buffer.from('%PDF-1.7 …')
const TEST = { authorization: `Bearer ${TEST_KEY}` }

/** An API whose tenant has html and these limits. */
function limited(limits: Partial<Limits>, ports: Parameters<typeof anApi>[0] = {}): Api {
  return anApi({ ...ports, ...withLimits(limits) })
}

function withLimits(limits: Partial<Limits>) {
  return {
    tenant: { limits: { htmlEngineEnabled: true, ...limits } },
    templates: [
      aTemplate({ engines: ['react_pdf', 'html'], variablesSchema: { properties: { n: { type: 'number' } } } }),
    ],
  }
}

function usageOf({ ports }: Api): Promise<Usage> {
  return ports.limiter.usage(aTenant().account, '2026-11', NEVER)
}

async function statusesOf(api: Api, body: object, count: number): Promise<readonly number[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => api.post(body)))
  return answers.map(({ statusCode }) => statusCode)
}

const unreachable = () => Promise.reject(new Unavailable('no answer'))

describe('an answer to POST /render', () => {
  const answerAs = async (api: Api, reply: Parameters<Api['ports']['replies']['reply']>[1]) => {
    const answer = api.post(SYNC)
    await api.ports.replies.reply((await queued(api, 'sync')).id, reply, NEVER)
    return await answer
  }

  test.for<[number, string, Api, (api: Api) => ReturnType<Api['post']>]>([
    [202, 'accepted', limited({}), (api) => api.post(ASYNC)],
    [200, 'rendered', limited({}), (api) => answerAs(api, aReply(PDF))],
    [
      500,
      'failed',
      limited({}),
      (api) => answerAs(api, { kind: 'failed', error: { code: 'page_limit', message: 'x' }, durationMs: 1 }),
    ],
    [402, 'over quota', limited({ renderLimitMonthly: 0 }), (api) => api.post(ASYNC)],
    [429, 'over the rate', limited({ asyncRateLimitPerMinute: 0 }), (api) => api.post(ASYNC)],
    [429, 'over the html rate', limited({ htmlRateLimitPerMinute: 0 }), (api) => api.post(HTML)],
    [
      503,
      'not queued',
      limited({}, { ports: { queue: { ...memoryRenderQueue(), enqueue: unreachable } } }),
      (api) => api.post(ASYNC),
    ],
  ])('%i, %s, shows the tightest bucket', async ([status, , api, ask]) => {
    const { statusCode, headers } = await ask(api)
    expect(statusCode).toBe(status)
    expect(headers).toMatchObject({
      'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
      'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
      'x-ratelimit-reset': expect.stringMatching(/^\d{10}$/),
    })
    expect(headers['retry-after'] !== undefined).toBe([202, 429, 503].includes(status))
  })

  test.for<[number, string, object, Parameters<typeof anApi>[0]]>([
    [400, 'malformed', { ...ASYNC, colour: 'red' }, {}],
    [402, 'of a suspended tenant', ASYNC, { tenant: { suspended: true } }],
    [402, 'for html outside the plan', HTML, {}],
    [404, 'for an unknown template', { ...ASYNC, template: 'offer' }, {}],
    [422, 'with data that does not fit', { ...ASYNC, data: { n: 'x' } }, withLimits({})],
    [
      503,
      'when the limiter is away',
      ASYNC,
      { ports: { limiter: { ...limited({}).ports.limiter, reserve: unreachable } } },
    ],
  ])('%i %s, shows none and leaves everything as it was', async ([status, , body, options]) => {
    const api = anApi(options)
    const { statusCode, headers } = await api.post(body)
    expect(statusCode).toBe(status)
    expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
    expect(await usageOf(api)).toEqual({ charged: 0, reserved: 0 })
    expect(await isQueueEmpty(api)).toBe(true)
    api.publish(withLimits({}))
  })

  test('counts down, and says in Unix seconds when all is free again', async () => {
    const api = limited({ asyncRateLimitPerMinute: 3 })
    const shown = []
    for (let at = 0; at < 4; at++) {
      const { headers } = await api.post(ASYNC)
      shown.push([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']])
      expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThanOrEqual(NOON / 1000 + 60)
      expect(Number(headers['x-ratelimit-reset'])).toBeLessThanOrEqual(NOON / 1000 + 61)
    }
    expect(shown).toEqual([
      ['3', '2'],
      ['3', '1'],
      ['3', '0'],
      ['3', '0'],
    ])
  })
})

describe('a rate', () => {
  test('admits exactly as many of many at once as it allows', async () => {
    const api = limited({ asyncRateLimitPerMinute: 60 })
    const statuses = await statusesOf(api, ASYNC, 200)
    expect(statuses.filter((status) => status === 202)).toHaveLength(60)
    expect(statuses.filter((status) => status === 429)).toHaveLength(140)
    expect(await usageOf(api)).toEqual({ charged: 0, reserved: 60 })
  })

  test.for([
    ['RATE_LIMITED', ASYNC, { asyncRateLimitPerMinute: 1 }, '1 a minute'],
    ['RATE_LIMITED', ASYNC, { rateLimitPerMinute: 1 }, '1 a minute'],
    ['HTML_RATE_LIMIT_EXCEEDED', HTML, { htmlRateLimitPerMinute: 1 }, 'html'],
  ] as const)(
    'refuses with %s for %o under %o, and says how long to wait: enough and no more',
    async ([code, body, limits, text]) => {
      const api = limited(limits)
      expect((await api.post(body)).statusCode).toBe(202)
      await api.clock.advance(12_345)
      const refused = await api.post(body)
      expect(refused.json().error).toMatchObject({ code, message: expect.stringContaining(text) })
      const waitMs = Number(refused.headers['retry-after']) * 1000
      await api.clock.advance(waitMs - 1000)
      expect((await api.post(body)).statusCode).toBe(429)
      await api.clock.advance(1000)
      expect((await api.post(body)).statusCode).toBe(202)
    },
  )

  test('is not touched by what it refuses', async () => {
    const api = limited({ asyncRateLimitPerMinute: 2 })
    expect(await statusesOf(api, ASYNC, 50)).toEqual([202, 202, ...Array.from({ length: 48 }, () => 429)])
    await api.clock.advance(61_000)
    expect(await statusesOf(api, ASYNC, 3)).toEqual([202, 202, 429])
  })

  test('is not touched by what is refused before it', async () => {
    const api = limited({ asyncRateLimitPerMinute: 2 })
    expect(new Set(await statusesOf(api, { ...ASYNC, data: { n: 'x' } }, 20))).toEqual(new Set([422]))
    expect(await statusesOf(api, ASYNC, 3)).toEqual([202, 202, 429])
  })

  test('counts from the next request when it is lowered, and when it is raised', async () => {
    const api = limited({ asyncRateLimitPerMinute: 10 })
    expect(await statusesOf(api, ASYNC, 5)).toEqual([202, 202, 202, 202, 202])
    api.publish(withLimits({ asyncRateLimitPerMinute: 5 }))
    expect(await statusesOf(api, ASYNC, 1)).toEqual([429])
    api.publish(withLimits({ asyncRateLimitPerMinute: 6 }))
    expect(await statusesOf(api, ASYNC, 2)).toEqual([202, 429])
  })

  test('of one mode, engine or environment leaves the others alone', async () => {
    const api = limited({ asyncRateLimitPerMinute: 1, htmlRateLimitPerMinute: 0 })
    expect((await api.post(ASYNC)).statusCode).toBe(202)
    expect((await api.post(ASYNC)).statusCode).toBe(429)
    expect((await api.post(ASYNC, TEST)).statusCode).toBe(202)
    const sync = api.post(SYNC)
    await api.ports.replies.reply((await queued(api, 'sync')).id, aReply(PDF), NEVER)
    expect((await sync).statusCode).toBe(200)
    expect((await api.post({ ...SYNC, engine: 'html' })).json().error.code).toBe('HTML_RATE_LIMIT_EXCEEDED')
  })
})

describe('the monthly quota', () => {
  test('refuses with 402 what it does not cover, and says what is used of it', async () => {
    const api = limited({ renderLimitMonthly: 6, htmlEngineRenderMultiplier: 5 })
    expect((await api.post(HTML)).statusCode).toBe(202)
    expect((await api.post(HTML)).json().error).toMatchObject({
      code: 'PAYMENT_REQUIRED',
      message: 'The monthly quota is exhausted: 0 of 6 units are used and 5 are reserved.',
    })
    expect((await api.post(ASYNC)).statusCode).toBe(202)
    expect((await api.post(ASYNC)).statusCode).toBe(402)
    expect(await usageOf(api)).toEqual({ charged: 0, reserved: 6 })
  })

  test('is nothing to the sandbox', async () => {
    const api = limited({ renderLimitMonthly: 0 })
    expect((await api.post(ASYNC, TEST)).statusCode).toBe(202)
    expect((await api.post(ASYNC)).statusCode).toBe(402)
  })

  test('starts again with the month', async () => {
    const api = limited({ renderLimitMonthly: 1 })
    expect(await statusesOf(api, ASYNC, 2)).toEqual([202, 402])
    await api.clock.advance(Date.UTC(2026, 11, 1) - NOON)
    expect(await statusesOf(api, ASYNC, 2)).toEqual([202, 402])
  })
})

describe('a reservation', () => {
  const broken = (queue: Partial<RenderQueue>) => ({ ports: { queue: { ...memoryRenderQueue(), ...queue } } })

  test('is confirmed by the acknowledgement of the queue, and lasts', async () => {
    const api = limited({})
    await api.post(ASYNC)
    await api.clock.advance(RESERVATION_MS * 2)
    expect(await usageOf(api)).toEqual({ charged: 0, reserved: 1 })
  })

  test('is given back, with its place in the rate, when the queue does not acknowledge', async () => {
    const api = limited({ renderLimitMonthly: 1, asyncRateLimitPerMinute: 1 }, broken({ enqueue: unreachable }))
    expect(await statusesOf(api, ASYNC, 1)).toEqual([503])
    expect(await usageOf(api)).toEqual({ charged: 0, reserved: 0 })
    expect(await statusesOf(api, ASYNC, 1)).toEqual([503])
  })

  test('is given back when no renderer takes a sync render in time', async () => {
    const api = limited({ renderLimitMonthly: 1, syncRateLimitPerMinute: 1 })
    const answer = api.post(SYNC)
    await queued(api, 'sync')
    expect(await usageOf(api)).toEqual({ charged: 0, reserved: 1 })
    await api.clock.advance(10_000)
    expect((await answer).statusCode).toBe(503)
    expect(await usageOf(api)).toEqual({ charged: 0, reserved: 0 })
  })

  test('that cannot be confirmed refuses nobody', async () => {
    const { limiter } = limited({}).ports
    const failing: Limiter = { ...limiter, confirm: unreachable }
    const api = limited({}, { ports: { limiter: failing } })
    expect((await api.post(ASYNC)).statusCode).toBe(202)
    expect(api.lines).toContainEqual(expect.objectContaining({ level: 'debug', message: 'reservation not confirmed' }))
  })
})

test('the fifth outstanding async render of a tenant goes to the bulk lane', async () => {
  const api = limited({ asyncFairShare: 4 })
  expect(await statusesOf(api, ASYNC, 6)).toEqual([202, 202, 202, 202, 202, 202])
  await using consumer = await api.ports.queue.consume('react_pdf', NEVER)
  const lengthOf = (lane: 'async' | 'bulk') => {
    let length = 0
    while (consumer.poll(lane) !== undefined) length++
    return length
  }
  expect([lengthOf('async'), lengthOf('bulk')]).toEqual([4, 2])
})
