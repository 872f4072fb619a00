/** Rates, quota, lanes and idempotency as a caller meets them, over HTTP alone. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ACME_LIVE,
  CROWDED_LIVE,
  GLOBEX_LIVE,
  invoice,
  METERED_LIVE,
  METERED_TEST,
  NARROW_LIVE,
  NARROW_TEST,
} from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { ended, type RenderAnswer, render, request, type Service, statusOf, submit } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

let service: Service
beforeAll(async () => {
  // They ask again sooner than they are told to.
  service = await startService({ PLATEN_REFUSALS_PER_MINUTE: '100000' })
})
afterAll(() => service[Symbol.asyncDispose]())

const SYNC = { template: 'invoice', data: invoice(1) }
const ASYNC = { ...SYNC, mode: 'async' }

function codeOf(answer: RenderAnswer): unknown {
  return (answer.json()['error'] as { code?: unknown }).code
}

function rateOf({ headers }: RenderAnswer): readonly number[] {
  return ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)))
}

function quotaOf(answer: RenderAnswer | undefined): readonly number[] {
  return ['limit', 'remaining'].map((name) => Number(answer?.headers.get(`x-service-quota-${name}`)))
}

async function usageOf(key: string): Promise<ReturnType<RenderAnswer['json']>> {
  const answer = await request(service, { key, path: '/api/v1/usage' })
  expect(answer.status).toBe(200)
  return answer.json()
}

describe('the rate of a key', () => {
  test('admits as many of many at once as the plan says, and tells the others how long to wait', async () => {
    const sentAt = Math.floor(Date.now() / 1000)
    const answers = await Promise.all(Array.from({ length: 12 }, () => render(service, NARROW_LIVE, SYNC)))
    const admitted = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 429)
    expect([admitted.length, refused.length]).toEqual([3, 9])
    expect(new Set(admitted.map((answer) => rateOf(answer)[1]))).toEqual(new Set([0, 1, 2]))
    for (const answer of refused) {
      const [limit, remaining, reset = 0] = rateOf(answer)
      expect([codeOf(answer), limit, remaining]).toEqual(['RATE_LIMITED', 3, 0])
      expect(reset - sentAt).toBeGreaterThanOrEqual(60)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(61)
    }
  })

  test('is one for each mode and environment', async () => {
    expect((await render(service, NARROW_LIVE, SYNC)).status).toBe(429)
    expect(rateOf(await render(service, NARROW_LIVE, ASYNC)).slice(0, 2)).toEqual([2, 1])
    expect((await render(service, NARROW_TEST, SYNC)).status).toBe(200)
  })

  test('is not touched by a request that is refused for another reason', async () => {
    const wrong = await render(service, NARROW_TEST, { ...SYNC, template: 'unknown' })
    expect([wrong.status, wrong.headers.get('x-ratelimit-limit')]).toEqual([404, null])
    expect(rateOf(await render(service, NARROW_TEST, SYNC))[1]).toBe(1)
  })

  test('of html is a bucket of its own, of the whole tenant', async () => {
    const html = { ...ASYNC, engine: 'html' }
    expect((await render(service, NARROW_TEST, html)).status).toBe(202)
    const refused = await render(service, NARROW_TEST, html)
    expect([refused.status, codeOf(refused)]).toEqual([429, 'HTML_RATE_LIMIT_EXCEEDED'])
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect((await render(service, NARROW_TEST, ASYNC)).status).toBe(202)
  })
})

describe('the rate of a tenant', () => {
  const inForce = CROWDED_LIVE.slice(0, 10)

  test.for([
    ['four times that of a key where its plan does not say', SYNC, 200, 8],
    ['what its plan says', ASYNC, 202, 5],
  ] as const)('is %s, however many keys it has', async ([, body, admitted, limit]) => {
    const answers = await Promise.all(inForce.map((key) => render(service, key, body)))
    const refused = answers.filter(({ status }) => status !== admitted)
    expect(refused.map((answer) => [answer.status, codeOf(answer), ...rateOf(answer).slice(0, 2)])).toEqual(
      Array.from({ length: inForce.length - limit }, () => [429, 'RATE_LIMITED', limit, 0]),
    )
  })

  test('is not passed by keys beyond those that its plan allows: they open nothing', async () => {
    const answers = await Promise.all(CROWDED_LIVE.slice(10).map((key) => render(service, key, SYNC)))
    expect(answers.map(({ status }) => status)).toEqual([401, 401])
  })
})

test('the monthly quota pays for what succeeds, html by its multiplier, and the sandbox is free', async () => {
  const broken = await render(service, METERED_LIVE, { template: 'broken', data: {} })
  expect(broken.status).toBe(500)
  await ended(service, METERED_LIVE, String(broken.headers.get('x-service-render-id')))
  const failed = await submit(service, METERED_LIVE, { template: 'broken', data: {} })
  expect((await ended(service, METERED_LIVE, failed)).status).toBe('failed')
  // In a cluster a render is shown as failed before its units are free again.
  await poll(() => usageOf(METERED_LIVE)).until(({ reserved }) => reserved === 0)
  const html = { ...SYNC, engine: 'html' }
  const paid = [await render(service, METERED_LIVE, html)]
  expect(quotaOf(paid[0])).toEqual([8, 3])
  // Three of eight units are left: none for html, and three for react_pdf.
  expect((await render(service, METERED_LIVE, html)).status).toBe(402)
  for (let left = 3; left > 0; left--) paid.push(await render(service, METERED_LIVE, SYNC))
  expect(paid.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const refused = await render(service, METERED_LIVE, SYNC)
  expect([refused.status, codeOf(refused), quotaOf(refused)]).toEqual([402, 'PAYMENT_REQUIRED', [8, 0]])
  expect(refused.json()).toMatchObject({ error: { message: expect.stringMatching(/quota .* of 8 units/) } })
  expect((await render(service, METERED_TEST, html)).status).toBe(200)
  // A sync render is answered before its outcome is on disk, and one that is killed in between is not paid for.
  for (const { headers } of paid) await ended(service, METERED_LIVE, String(headers.get('x-service-render-id')))
  const used = await poll(() => usageOf(METERED_LIVE)).until(({ reserved }) => reserved === 0)
  const today = new Date().toISOString().slice(0, 10)
  expect(used).toMatchObject({ limit: 8, used: 8, remaining: 0 })
  expect(used['templates']).toEqual([{ template: 'invoice', renders: 4, units: 8 }])
  expect(used['days']).toEqual([{ date: today, renders: 4, units: 8 }])
  expect(await usageOf(METERED_TEST)).toMatchObject({ used: 0, templates: [], days: [] })
  await service.kill()
  await service.start()
  expect((await render(service, METERED_LIVE, SYNC)).status).toBe(402)
  const { rates: _now, ...before } = used
  expect(await usageOf(METERED_LIVE)).toMatchObject(before)
})

test('the usage shows what is left of each rate, and asking takes nothing', async () => {
  const { rates } = await usageOf(GLOBEX_LIVE)
  const answer = await render(service, GLOBEX_LIVE, ASYNC)
  expect(answer.status).toBe(202)
  const left = (all: unknown) => (all as readonly { remaining: number }[]).map(({ remaining }) => remaining)
  const names = (all: unknown) =>
    (all as readonly { renders: string; per: string }[]).map((rate) => `${rate.renders} ${rate.per}`)
  expect(names(rates)).toEqual(['sync key', 'async key', 'sync tenant', 'async tenant'])
  const taken = left((await usageOf(GLOBEX_LIVE))['rates']).map((now, at) => (left(rates)[at] ?? 0) - now)
  expect(taken).toEqual([0, 1, 0, 1])
})

describe('an Idempotency-Key', () => {
  const post = (body: object, key: string, live = ACME_LIVE) =>
    request(service, { key: live, body, headers: { 'idempotency-key': key } })

  /** Sends a request until its first one has been answered, as a caller does who is told to wait. */
  const replayed = (body: object, key: string) => poll(() => post(body, key)).until(({ status }) => status !== 409)

  test('gives one render to fifty requests at once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(ASYNC, 'fifty')))
    const accepted = answers.filter(({ status }) => status === 202)
    const inProgress = answers.filter(({ status }) => status === 409)
    expect(accepted.length).toBeGreaterThan(0)
    expect(accepted.length + inProgress.length).toBe(50)
    for (const answer of inProgress) {
      expect([codeOf(answer), answer.headers.get('retry-after')]).toEqual(['IDEMPOTENCY_IN_PROGRESS', '1'])
    }
    const again = await post(ASYNC, 'fifty')
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
    expect(new Set([...accepted, again].map((answer) => answer.json()['render_id'])).size).toBe(1)
  })

  test('gives the same PDF again, and the same failure', async () => {
    const first = await post(SYNC, 'sync')
    const second = await replayed(SYNC, 'sync')
    expect(Buffer.from(second.body).equals(first.body)).toBe(true)
    for (const name of ['x-service-render-id', 'x-service-render-ms', 'etag', 'content-disposition', 'content-type'])
      expect(second.headers.get(name)).toBe(first.headers.get(name))
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    const broken = { template: 'broken', data: {} }
    const failure = await post(broken, 'broken')
    const failureAgain = await replayed(broken, 'broken')
    expect([failure.status, failureAgain.status]).toEqual([500, 500])
    expect(failureAgain.headers.get('x-service-render-id')).toBe(failure.headers.get('x-service-render-id'))
  })

  test('is refused for another body, and another tenant knows nothing of it', async () => {
    const first = await post(ASYNC, 'body')
    const other = await post({ ...ASYNC, data: invoice(2) }, 'body')
    expect([other.status, codeOf(other)]).toEqual([422, 'IDEMPOTENCY_MISMATCH'])
    const foreign = await post({ ...ASYNC, data: invoice(2) }, 'body', GLOBEX_LIVE)
    expect([foreign.status, foreign.headers.get('idempotent-replayed')]).toEqual([202, null])
    expect(foreign.json()['render_id']).not.toBe(first.json()['render_id'])
  })

  test('holds over kill -9: what was answered is answered again, of what was not one render comes at most', async () => {
    const first = await post(SYNC, 'kept')
    await replayed(SYNC, 'kept')
    const ids = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => (await post(ASYNC, `k${at}`)).json()['render_id']),
    )
    const unanswered = Array.from({ length: 20 }, (_, at) => post(ASYNC, `u${at}`).catch(() => undefined))
    // The moment of the kill: one of them is answered, and the others are wherever they are.
    await Promise.race(unanswered)
    await service.kill()
    const answers = await Promise.all(unanswered)
    await service.start()
    const kept = await replayed(SYNC, 'kept')
    expect(Buffer.from(kept.body).equals(first.body)).toBe(true)
    for (const [at, id] of ids.entries()) expect((await post(ASYNC, `k${at}`)).json()['render_id']).toBe(id)
    for (const [at, answer] of answers.entries()) {
      const again = await replayed(ASYNC, `u${at}`)
      expect(again.status).toBe(202)
      const id = again.json()['render_id']
      if (answer !== undefined) expect(id).toBe(answer.json()['render_id'])
      expect((await ended(service, ACME_LIVE, String(id))).status).toBe('succeeded')
      expect((await post(ASYNC, `u${at}`)).json()['render_id']).toBe(id)
    }
    expect((await post({ ...ASYNC, data: {} }, 'k0')).status).toBe(422)
    expect((await statusOf(service, ACME_LIVE, String(ids[0]))).status).toBe('succeeded')
  })
})
