import type { Attempt, Delivery } from '@platen/contract/domain/delivery.ts'
import { WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/domain/limit.ts'
import { mintRenderId } from '@platen/contract/domain/render-id.ts'
import type { DeliveryLog, DueDelivery, NextStatus } from '@platen/contract/port/delivery-log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { assert, beforeEach, describe, expect, test } from 'vitest'
import { type Api, anApi, FOREIGN_KEY, LIVE_KEY, TEST_KEY } from '../../../../test/fixture/api.ts'
import { aDelivery, aTenant, NEVER, NOON } from '../../../../test/fixture/build.ts'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'
import { memoryDeliveryLog } from '../../../../test/fixture/memory/delivery-log.ts'

const SCOPE = { account: aTenant().account, environment: 'live' } as const
const FAILED: Attempt = {
  startedAt: NOON + 600,
  durationMs: 87,
  result: 'status',
  statusCode: 503,
  message: 'hooks.example.com answered with the status 503',
  excerpt: 'later',
}

let log: DeliveryLog
let api: Api
let delivery: Delivery
beforeEach(async () => {
  log = memoryDeliveryLog(manualClock(NOON))
  api = anApi({ ports: { deliveries: log } })
  const render = mintRenderId(SCOPE, api.ports.keys(), { now: NOON, random: Buffer.alloc(5, 9) })
  delivery = aDelivery({ render })
  await log.schedule([delivery], NEVER)
})

async function due(): Promise<DueDelivery> {
  for await (const each of log.consume(NEVER)) return each
  throw new Error('the log ended')
}

async function attempted(attempt: Attempt, next?: NextStatus): Promise<void> {
  await (await due()).record(attempt, next)
}

const listPath = () => `/api/v1/render/${delivery.render}/deliveries`
const redeliver = (id = delivery.id, key = LIVE_KEY) =>
  api.call({ method: 'POST', path: `/api/v1/deliveries/${id}/redeliver`, headers: { authorization: `Bearer ${key}` } })

describe('GET /render/:id/deliveries', () => {
  test('tells what is due, and what became of each attempt', async () => {
    await attempted(FAILED, { status: 'scheduled', waitMs: 1700 })
    expect((await api.get(listPath())).json()).toEqual({
      deliveries: [
        {
          id: delivery.id,
          event: 'render.succeeded',
          url: 'https://hooks.example.com/pdf',
          status: 'scheduled',
          created_at: new Date(delivery.createdAt).toISOString(),
          next_attempt_at: '2026-11-21T12:00:01.700Z',
          attempts: [
            {
              started_at: '2026-11-21T12:00:00.600Z',
              duration_ms: 87,
              result: 'status',
              status_code: 503,
              message: 'hooks.example.com answered with the status 503',
              response_excerpt: 'later',
            },
          ],
        },
      ],
    })
  })

  test('says of an ended one how and why', async () => {
    await attempted({ startedAt: NOON, durationMs: 0, result: 'blocked' }, { status: 'blocked', reason: 'not public' })
    const [entry] = (await api.get(listPath())).json().deliveries
    expect(entry).toMatchObject({ status: 'blocked', reason: 'not public', attempts: [{ result: 'blocked' }] })
    expect(entry).not.toHaveProperty('next_attempt_at')
  })

  test('has nothing to tell of a render that named no receiver', async () => {
    const other = mintRenderId(SCOPE, api.ports.keys(), { now: NOON, random: Buffer.alloc(5, 8) })
    expect((await api.get(`/api/v1/render/${other}/deliveries`)).json()).toEqual({ deliveries: [] })
  })

  test.for([
    ['another tenant', FOREIGN_KEY],
    ['the other environment', TEST_KEY],
  ])('tells nothing to %s', async ([, key]) => {
    const answer = await api.get(listPath(), { authorization: `Bearer ${key}` })
    expect(answer.json().error.code).toBe('RENDER_NOT_FOUND')
  })
})

describe('GET /deliveries/:id', () => {
  test('tells of one delivery what the list of its render tells, and which render it is of', async () => {
    await attempted(FAILED, { status: 'exhausted' })
    const [entry] = (await api.get(listPath())).json().deliveries
    const answer = await api.get(`/api/v1/deliveries/${delivery.id}`)
    expect(answer.json()).toEqual({ ...entry, render_id: delivery.render })
  })

  test.for([
    ['another tenant', FOREIGN_KEY],
    ['the other environment', TEST_KEY],
  ])('tells nothing to %s', async ([, key]) => {
    const answer = await api.get(`/api/v1/deliveries/${delivery.id}`, { authorization: `Bearer ${key}` })
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'DELIVERY_NOT_FOUND'])
  })

  test.for(['x', '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71', '%00', 'A'.repeat(3000)])('knows no %j', async (id) => {
    expect((await api.get(`/api/v1/deliveries/${id}`)).json().error.code).toBe('DELIVERY_NOT_FOUND')
  })
})

describe('POST /deliveries/:id/redeliver', () => {
  test('asks for one attempt each time, under the same id', async () => {
    await attempted(FAILED, { status: 'exhausted' })
    const answers = [await redeliver(), await redeliver()]
    expect(answers.map((answer) => [answer.statusCode, answer.json()])).toEqual([
      [202, { id: delivery.id, status: 'exhausted' }],
      [202, { id: delivery.id, status: 'exhausted' }],
    ])
    const first = await due()
    expect(first).toMatchObject({ delivery, isRedelivery: true })
    await first.record(FAILED)
    expect(await due()).toMatchObject({ delivery, isRedelivery: true })
  })

  test.for([
    ['another tenant', FOREIGN_KEY],
    ['the other environment', TEST_KEY],
  ])('is refused to %s, and asks for nothing', async ([, key]) => {
    const answer = await redeliver(delivery.id, key)
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'DELIVERY_NOT_FOUND'])
    expect((await due()).isRedelivery).toBe(false)
  })

  test.for(['x', '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71', '%00', 'A'.repeat(3000)])(
    'is refused for %j, which is no delivery',
    async (id) => {
      expect((await redeliver(id)).json().error.code).toBe('DELIVERY_NOT_FOUND')
    },
  )

  test('is refused while too many are asked for', async () => {
    for (let i = 0; i < WEBHOOK_REDELIVERIES_MAX; i++) await redeliver()
    const answer = await redeliver()
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '2'])
    expect(answer.json().error.code).toBe('RATE_LIMITED')
  })

  test('is answered 503 where the log cannot be reached', async () => {
    const find = () => Promise.reject(new Unavailable('away'))
    api = anApi({ ports: { deliveries: { ...log, find } } })
    const answer = await redeliver()
    assert(answer.statusCode === 503)
    expect(answer.headers['retry-after']).toBe('2')
  })
})
