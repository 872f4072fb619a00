import { memoryDeliveryList } from '@platen/adapters/memory/delivery-log/delivery-list.ts'
import { mintRenderId } from '@platen/contract/domain/render-id.ts'
import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import type { DeliveryListView, ListedDelivery } from '@platen/contract/port/delivery-list.ts'
import { RenderListIncomplete } from '@platen/contract/port/render-list.ts'
import type { DeliveryPage } from '@platen/contract/schema/response.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Api, anApi, FOREIGN_KEY, TEST_KEY } from '../../../../test/fixture/api.ts'
import { aRecord, NEVER, NOON } from '../../../../test/fixture/build.ts'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'

const PATH = '/api/v1/deliveries'
const { account, environment } = aRecord()
const SCOPE = { account, environment }

let list: DeliveryListView
let api: Api
beforeEach(() => {
  list = memoryDeliveryList(manualClock(NOON))
  api = anApi({ ports: { deliveryList: list } })
})

/** A delivery of a render that was accepted so many seconds before noon. */
async function listed(secondsAgo: number, fields: Partial<ListedDelivery> = {}): Promise<string> {
  const random = Buffer.from([secondsAgo, 2, 3, 4, 5])
  const render = mintRenderId(SCOPE, api.ports.keys(), { now: NOON - secondsAgo * 1000, random })
  const id = `019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d${String(secondsAgo).padStart(2, '0')}`
  // Branded: the fixtures' tenant has a template of this code.
  const template = 'invoice' as TemplateCode
  const known = { id, event: 'render.succeeded', render, template, createdAt: NOON, expiresAt: NOON + 1000 } as const
  await list.put(SCOPE, { ...known, status: 'delivered', ...fields }, NEVER)
  return id
}

const idsOf = async (query: string) =>
  (await api.get(`${PATH}?${query}`)).json<DeliveryPage>().deliveries.map(({ id }) => id)

describe('GET /deliveries', () => {
  test('says of a delivery what a list needs', async () => {
    const lastAttempt = { startedAt: NOON, durationMs: 87, result: 'status', statusCode: 503 } as const
    const id = await listed(1, { reference: 'order-7', status: 'exhausted', lastAttempt })
    expect((await api.get(PATH)).json()).toEqual({
      deliveries: [
        {
          id,
          event: 'render.succeeded',
          render_id: expect.stringMatching(/^01/),
          template: 'invoice',
          reference: 'order-7',
          status: 'exhausted',
          created_at: '2026-11-21T12:00:00.000Z',
          last_attempt: {
            started_at: '2026-11-21T12:00:00.000Z',
            duration_ms: 87,
            result: 'status',
            status_code: 503,
          },
        },
      ],
    })
  })

  test('lists twenty if nothing else is asked for, and the rest by cursor', async () => {
    const ids = []
    for (let i = 45; i > 0; i--) ids.unshift(await listed(i))
    const found: string[] = []
    const sizes: number[] = []
    for (let query: string | undefined = ''; query !== undefined; ) {
      const page: DeliveryPage = (await api.get(`${PATH}${query}`)).json()
      found.push(...page.deliveries.map(({ id }) => id))
      sizes.push(page.deliveries.length)
      query = page.next_cursor && `?cursor=${page.next_cursor}`
    }
    expect(found).toEqual(ids)
    expect(sizes).toEqual([20, 20, 5])
  })

  test('takes every filter', async () => {
    const [old, failed, last] = [
      await listed(60, { reference: 'a' }),
      await listed(30, { reference: 'a', status: 'exhausted' }),
      await listed(0),
    ]
    expect(await idsOf('reference=a')).toEqual([failed, old])
    expect(await idsOf('status=exhausted')).toEqual([failed])
    expect(await idsOf('status=gone')).toEqual([])
    expect(await idsOf('template=letter')).toEqual([])
    expect(await idsOf('created_after=2026-11-21T11:59:30Z&template=invoice')).toEqual([last, failed])
    expect(await idsOf('created_before=2026-11-21T12:59:30%2B01:00')).toEqual([old])
  })

  test.for([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['status=failed', 'status'],
    ['status=gone&status=blocked', 'status'],
    ['engine=html', 'engine'],
    ['template=../x', 'template'],
    ['reference=', 'reference'],
    ['reference=%E2%80%AEa', 'reference'],
    ['created_after=yesterday', 'created_after'],
    ['created_before=2026-06-30T23:59:60Z', 'created_before'],
    ['cursor=', 'cursor'],
    [`cursor=${'A'.repeat(43)}`, 'cursor'],
    [`cursor=${'A'.repeat(5000)}`, 'cursor'],
    ['url=https://example.com', 'url'],
  ])('refuses ?%s and names the field', async ([query, path]) => {
    const answer = await api.get(`${PATH}?${query}`)
    const detail = expect.objectContaining({ in: 'query', path })
    expect([answer.statusCode, answer.json()]).toMatchObject([
      400,
      { error: { code: 'INVALID_PAYLOAD', details: expect.arrayContaining([detail]) } },
    ])
  })

  test('continues only the list that a cursor is of', async () => {
    for (const seconds of [3, 2, 1]) await listed(seconds, { reference: 'a' })
    const { next_cursor: cursor = '' }: DeliveryPage = (await api.get(`${PATH}?limit=1&reference=a`)).json()
    const statusOf = async (path: string, headers = {}) => (await api.get(path, headers)).statusCode
    const tampered = `${cursor.startsWith('A') ? 'B' : 'A'}${cursor.slice(1)}`
    expect(await statusOf(`${PATH}?cursor=${cursor}&reference=a&limit=9`)).toBe(200)
    for (const path of [
      `${PATH}?cursor=${cursor}`,
      `${PATH}?cursor=${cursor}&reference=b`,
      `${PATH}?cursor=${cursor}&reference=a&status=gone`,
      `${PATH}?cursor=${tampered}&reference=a`,
      `/api/v1/renders?cursor=${cursor}&reference=a`,
    ])
      expect(await statusOf(path), path).toBe(400)
    for (const key of [FOREIGN_KEY, TEST_KEY])
      expect(await statusOf(`${PATH}?cursor=${cursor}&reference=a`, { authorization: `Bearer ${key}` })).toBe(400)
  })

  test('shows nothing to another tenant or in the other environment', async () => {
    await listed(1)
    for (const key of [FOREIGN_KEY, TEST_KEY])
      expect((await api.get(PATH, { authorization: `Bearer ${key}` })).json()).toEqual({ deliveries: [] })
  })

  test('is refused while deliveries may be missing, and says when to try again', async () => {
    const page = () => Promise.reject(new RenderListIncomplete('not yet'))
    const answer = await anApi({ ports: { deliveryList: { page } } }).get(PATH)
    expect([answer.statusCode, answer.json()]).toMatchObject([
      503,
      { error: { code: 'RENDER_UNAVAILABLE', reason: 'list_incomplete' } },
    ])
    expect(answer.headers['retry-after']).toBe('5')
  })
})
