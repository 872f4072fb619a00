import type { Limits, TemplateCode } from '@platen/contract/domain/tenant.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { anApi, TEST_KEY } from '../../../../test/fixture/api.ts'
import { aManifest, aRecord, aTemplate, aTenant, NEVER } from '../../../../test/fixture/build.ts'
import { memoryLimiter } from '../../../../test/fixture/memory/limiter.ts'

const ASYNC = { template: 'invoice', data: {}, mode: 'async' }
const HTML = { htmlEngineEnabled: true }
const TEST = { authorization: `Bearer ${TEST_KEY}` }

/** An API whose tenant is charged for renders of these templates, with these units. */
async function charged(limits: Partial<Limits>, renders: readonly [string, number][] = []) {
  const api = anApi({ tenant: { limits }, templates: [aTemplate({ engines: ['react_pdf', 'html'] })] })
  for (const [code, units] of renders) {
    // A test may use any text as a code.
    const template = { ...aRecord().template, code: code as TemplateCode }
    const record = aRecord({ account: aTenant().account, template, units })
    await api.ports.limiter.complete(aManifest({ record }), NEVER)
  }
  return api
}

describe('GET /usage', () => {
  test('tells what is used, reserved and left of the month, by template and by day', async () => {
    const api = await charged({ renderLimitMonthly: 100 }, [
      ['letter', 3],
      ['invoice', 1],
      ['report', 25],
      ['letter', 3],
    ])
    await api.post(ASYNC)
    const answer = await api.get('/api/v1/usage')
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({
      month: '2026-11',
      resets_at: '2026-12-01T00:00:00.000Z',
      limit: 100,
      used: 32,
      reserved: 1,
      remaining: 67,
      templates: [
        { template: 'report', renders: 1, units: 25 },
        { template: 'letter', renders: 2, units: 6 },
        { template: 'invoice', renders: 1, units: 1 },
      ],
      days: [{ date: '2026-11-21', renders: 4, units: 32 }],
    })
  })

  test('has neither limit nor remaining if the plan sets no limit, and never less than nothing left', async () => {
    const free = (await (await charged({})).get('/api/v1/usage')).json()
    expect([free.limit, free.remaining]).toEqual([undefined, undefined])
    const over = (await (await charged({ renderLimitMonthly: 5 }, [['invoice', 7]])).get('/api/v1/usage')).json()
    expect([over.limit, over.used, over.remaining]).toEqual([5, 7, 0])
  })

  test('shows each rate that renders of the key count in, and that of html only if the plan has html', async () => {
    const api = await charged(HTML)
    await api.post(ASYNC)
    const { rates } = (await api.get('/api/v1/usage')).json()
    const shown = rates.map(({ resets_at: _at, ...rate }: { resets_at: string }) => Object.values(rate))
    expect(shown).toEqual([
      ['sync', 'key', 60, 60],
      ['async', 'key', 600, 599],
      ['sync', 'tenant', 240, 240],
      ['async', 'tenant', 2400, 2399],
      ['html', 'tenant', 10, 10],
    ])
    api.publish({ tenant: { limits: { htmlEngineEnabled: false } } })
    expect(JSON.stringify((await api.get('/api/v1/usage')).json().rates)).not.toContain('html')
  })

  test('shows a key of the sandbox its own rates, and nothing of what others have used', async () => {
    const api = await charged({ renderLimitMonthly: 100 }, [['secret', 3]])
    await api.post(ASYNC)
    const { rates, ...rest } = (await api.get('/api/v1/usage', TEST)).json()
    expect(rest).toEqual({
      month: '2026-11',
      resets_at: '2026-12-01T00:00:00.000Z',
      used: 0,
      reserved: 0,
      templates: [],
      days: [],
    })
    expect(rates.map(({ limit, remaining }: { limit: number; remaining: number }) => limit - remaining)).toEqual([
      0, 0, 0, 0,
    ])
  })

  test('answers 503 while the limiter is away', async () => {
    const report = () => Promise.reject(new Unavailable('no answer'))
    const api = anApi()
    const away = anApi({ ports: { limiter: { ...memoryLimiter(api.clock), report } } })
    const answer = await away.get('/api/v1/usage')
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '2'])
  })
})

describe('the quota headers of POST /render', () => {
  const quotaOf = ({ headers }: { headers: Record<string, unknown> }) => [
    headers['x-service-quota-limit'],
    headers['x-service-quota-remaining'],
  ]

  test('count down to a refusal, which has them too', async () => {
    const api = await charged({ renderLimitMonthly: 2 })
    const answers = [await api.post(ASYNC), await api.post(ASYNC), await api.post(ASYNC)]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([202, 202, 402])
    expect(answers.map(quotaOf)).toEqual([
      ['2', '1'],
      ['2', '0'],
      ['2', '0'],
    ])
  })

  test('are on a refusal by a rate', async () => {
    const api = await charged({ renderLimitMonthly: 5, asyncRateLimitPerMinute: 0 })
    const answer = await api.post(ASYNC)
    expect([answer.statusCode, ...quotaOf(answer)]).toEqual([429, '5', '5'])
  })

  test('are absent without a limit, and in the sandbox', async () => {
    expect(quotaOf(await (await charged({})).post(ASYNC))).toEqual([undefined, undefined])
    const api = await charged({ renderLimitMonthly: 2 })
    expect(quotaOf(await api.post(ASYNC, TEST))).toEqual([undefined, undefined])
  })
})
