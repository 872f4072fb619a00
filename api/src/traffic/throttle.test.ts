/** The limits for callers before a limit of their plan applies, on the whole API in memory. */
import type { TrafficLimits } from '@platen/contract/domain/limit.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import { type Api, anApi, FOREIGN_KEY, LIVE_KEY, TEST_KEY, TRAFFIC } from '../../../test/fixture/api.ts'
import { BODY_PIECE_BYTES_MIN } from './limit.ts'
import { openThrottle, Throttled } from './throttle.ts'
import { openTokenBuckets } from './token-buckets.ts'

const ASYNC = { template: 'invoice', data: {}, mode: 'async' }
const WRONG = { template: 'invoice' }
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

function limited(traffic: Partial<TrafficLimits>): Api {
  return anApi({ settings: { traffic: { ...TRAFFIC, ...traffic } } })
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Sends the same request `count` times and returns the statuses. */
async function statuses(count: number, ask: () => Promise<{ statusCode: number }>): Promise<readonly number[]> {
  return await Array.fromAsync({ length: count }, async () => (await ask()).statusCode)
}

describe('requests for renders', () => {
  test('are refused unread once too many of the key were refused, and let in again as time goes by', async () => {
    const api = limited({ keyRefusals: 3 })
    expect(await statuses(5, () => api.post(WRONG))).toEqual([400, 400, 400, 429, 429])
    const answer = await api.post(ASYNC)
    expect([answer.statusCode, answer.json().error.code, answer.headers['retry-after']]).toEqual([
      429,
      'RATE_LIMITED',
      '20',
    ])
    expect(answer.json().error.message).toContain('3 a minute')
    await api.clock.advance(20 * SECOND_MS)
    expect((await api.post(ASYNC)).statusCode).toBe(202)
  })

  test('of other keys are not refused for it, those of the same tenant neither', async () => {
    const api = limited({ keyRefusals: 1 })
    expect(await statuses(2, () => api.post(WRONG))).toEqual([400, 429])
    expect((await api.post(ASYNC, bearer(TEST_KEY))).statusCode).toBe(202)
    expect((await api.post(ASYNC, bearer(FOREIGN_KEY))).json().error.code).toBe('TEMPLATE_NOT_FOUND')
  })

  test('that the plan admits are not counted, and replays of them are', async () => {
    const api = limited({ keyRefusals: 2 })
    expect(await statuses(5, () => api.post(ASYNC))).toEqual([202, 202, 202, 202, 202])
    const keyed = () => api.post(ASYNC, { 'idempotency-key': 'a' })
    expect(await statuses(4, keyed)).toEqual([202, 202, 202, 429])
  })

  test('that the plan refuses are counted, too: each is a call of the limiter', async () => {
    const api = anApi({
      tenant: { limits: { asyncRateLimitPerMinute: 1 } },
      settings: { traffic: { ...TRAFFIC, keyRefusals: 2 } },
    })
    expect(await statuses(3, () => api.post(ASYNC))).toEqual([202, 429, 429])
    const answer = await api.post(ASYNC)
    expect([answer.statusCode, answer.headers['x-ratelimit-limit']]).toEqual([429, undefined])
  })

  test('may be so many bytes long together', async () => {
    const length = 4 * BODY_PIECE_BYTES_MIN
    const api = limited({ keyBytes: 2 * length })
    const text = JSON.stringify(ASYNC)
    const body = { ...ASYNC, data: { a: 'x'.repeat(length - text.length - '"a":""'.length) } }
    expect(await statuses(3, () => api.post(body))).toEqual([202, 202, 429])
    expect((await api.post(body)).json().error.message).toContain(`${2 * length} bytes a minute`)
    await api.clock.advance(MINUTE_MS / 2)
    expect(await statuses(2, () => api.post(body))).toEqual([202, 429])
  })
})

test('requests for anything else have a rate of their own', async () => {
  const api = limited({ keyRequests: 2, keyRefusals: 1 })
  expect(await statuses(3, () => api.get('/api/v1/templates'))).toEqual([200, 200, 429])
  expect((await api.get('/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R')).headers['retry-after']).toBe('30')
  expect((await api.post(ASYNC)).statusCode).toBe(202)
  expect((await api.get('/livez')).statusCode).toBe(200)
})

describe('an address that shows no good key', () => {
  const none = (api: Api) => api.call({ path: '/api/v1/templates' })

  test('gets only 429 after so many refusals, and its connection is closed', async () => {
    const api = limited({ addressRefusals: 2 })
    expect(await statuses(3, () => none(api))).toEqual([401, 401, 429])
    const answer = await api.call({ path: '/nothing' })
    expect([answer.statusCode, answer.headers['connection']]).toEqual([429, 'close'])
    expect((await api.get('/api/v1/templates')).statusCode).toBe(200)
    await api.clock.advance(MINUTE_MS)
    expect((await none(api)).statusCode).toBe(401)
  })

  test('is given the description of the API as often, and the health at any time', async () => {
    const api = limited({ addressRefusals: 2 })
    expect(await statuses(3, () => api.call({ path: '/openapi.json' }))).toEqual([200, 200, 429])
    expect(await statuses(3, () => api.call({ path: '/readyz' }))).toEqual([200, 200, 200])
  })

  test('fills no log', async () => {
    const api = limited({ addressRefusals: 2 })
    await statuses(10, () => none(api))
    expect(api.lines.filter(({ level }) => level !== 'debug').map(({ fields }) => fields['status'])).toEqual([401, 401])
  })

  test('is the one that a trusted proxy names', async () => {
    const from = (api: Api, address: string) =>
      api.call({ path: '/api/v1/templates', headers: { 'x-forwarded-for': address } })
    const trusting = limited({ addressRefusals: 1, trustedProxies: ['127.0.0.0/8'] })
    expect((await from(trusting, '192.0.2.1')).statusCode).toBe(401)
    expect((await from(trusting, '192.0.2.2')).statusCode).toBe(401)
    expect((await from(trusting, '192.0.2.1')).statusCode).toBe(429)
    const other = limited({ addressRefusals: 1 })
    expect((await from(other, '192.0.2.1')).statusCode).toBe(401)
    expect((await from(other, '192.0.2.2')).statusCode).toBe(429)
  })
})

test('pieces of a body count as much as the work they make', () => {
  const throttle = openThrottle({ ...TRAFFIC, keyBytes: 100 * BODY_PIECE_BYTES_MIN }, { monotonic: () => 0 })
  const payer = throttle.render(LIVE_KEY as KeyHash)
  payer.charge(0, 0)
  for (let pieces = 1; pieces <= 100; pieces++) payer.charge(pieces, pieces)
  expect(() => payer.charge(101, 101)).toThrow(Throttled)
  const other = throttle.render(TEST_KEY as KeyHash)
  other.charge(100 * BODY_PIECE_BYTES_MIN, 3)
  expect(() => throttle.render(TEST_KEY as KeyHash).charge(1, 1)).toThrow(Throttled)
})

describe('token buckets', () => {
  test('are never fuller than a minute, and owe no more than one', () => {
    let now = 0
    const buckets = openTokenBuckets({ perMinute: 60, namesMax: 10, clock: { monotonic: () => now } })
    expect(buckets.waitMs('a', 60)).toBe(0)
    // A charge above the size of a bucket is accepted when the bucket is full.
    expect(buckets.waitMs('a', 61)).toBe(0)
    buckets.take('a', 1000)
    expect(buckets.waitMs('a', 1)).toBe(61 * SECOND_MS)
    now += 61 * SECOND_MS
    expect(buckets.waitMs('a', 1)).toBe(0)
    now += 60 * MINUTE_MS
    buckets.take('a', 60)
    expect(buckets.waitMs('a', 1)).toBe(SECOND_MS)
  })

  test('are kept of so many names, the one that was used least recently going first', () => {
    const buckets = openTokenBuckets({ perMinute: 1, namesMax: 2, clock: { monotonic: () => 0 } })
    for (const name of ['a', 'b', 'a', 'c']) buckets.take(name, 1)
    expect(['a', 'b', 'c'].map((name) => buckets.waitMs(name, 1) > 0)).toEqual([true, false, true])
  })
})
