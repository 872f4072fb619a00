import type { RenderRecord } from '@platen/contract/domain/render.ts'
import { mintRenderId } from '@platen/contract/domain/render-id.ts'
import { RenderListIncomplete } from '@platen/contract/port/render-list.ts'
import type { RenderPage } from '@platen/contract/schema/response.ts'
import { describe, expect, test } from 'vitest'
import { type Api, anApi, FOREIGN_KEY } from '../../../../test/fixture/api.ts'
import { aFailure, aManifest, aRecord, NEVER, NOON } from '../../../../test/fixture/build.ts'

const PATH = '/api/v1/renders'
const { account, environment } = aRecord()

/** A render that ended, which this API accepted so many seconds before noon. */
async function ended(api: Api, secondsAgo: number, fields: Partial<RenderRecord> = {}): Promise<string> {
  const acceptedAt = NOON - secondsAgo * 1000
  const random = Buffer.from([secondsAgo, 2, 3, 4, 5])
  const id = mintRenderId({ account, environment }, api.ports.keys(), { now: acceptedAt, random })
  const record = aRecord({ id, acceptedAt, ...fields })
  await api.ports.ledger.complete(aManifest({ record, outcome: aFailure() }), NEVER)
  return id
}

describe('GET /renders', () => {
  test('says of a render what a list needs, and no message', async () => {
    const api = anApi()
    const labels = { reference: 'order-7', metadata: { customer: 'c-17' } }
    const id = await ended(api, 1, labels)
    expect((await api.get(PATH)).json()).toEqual({
      renders: [
        {
          render_id: id,
          template: 'invoice',
          engine: 'react_pdf',
          ...labels,
          status: 'failed',
          created_at: '2026-11-21T11:59:59.000Z',
          finished_at: '2026-11-21T12:00:00.500Z',
          error: { code: 'template_error', reason: 'template_error' },
        },
      ],
    })
  })

  test('lists twenty renders if nothing else is asked for, and the rest by cursor', async () => {
    const api = anApi()
    const ids = []
    for (let i = 45; i > 0; i--) ids.unshift(await ended(api, i))
    const listed: string[] = []
    const sizes: number[] = []
    for (let query: string | undefined = ''; query !== undefined; ) {
      const page: RenderPage = (await api.get(`${PATH}${query}`)).json()
      listed.push(...page.renders.map(({ render_id }) => render_id))
      sizes.push(page.renders.length)
      query = page.next_cursor && `?cursor=${page.next_cursor}`
    }
    expect(listed).toEqual(ids)
    expect(sizes).toEqual([20, 20, 5])
  })

  test('takes digits as a reference, and times in any zone', async () => {
    const api = anApi()
    const [id, later] = [await ended(api, 60, { reference: '42' }), await ended(api, 0, { reference: '42' })]
    const idsOf = async (query: string) =>
      (await api.get(`${PATH}?${query}`)).json<RenderPage>().renders.map(({ render_id }) => render_id)
    expect(await idsOf('reference=42')).toEqual([later, id])
    expect(await idsOf('reference=42&created_before=2026-11-21T13:00:00%2B01:00')).toEqual([id])
    expect(await idsOf('created_after=2026-11-21T12:00:00Z')).toEqual([later])
  })

  test.for([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['status=done', 'status'],
    ['status=failed&status=queued', 'status'],
    ['engine=latex', 'engine'],
    ['template=../x', 'template'],
    ['reference=', 'reference'],
    [`reference=${'a'.repeat(129)}`, 'reference'],
    ['reference=a%0Ab', 'reference'],
    ['reference=%E2%80%AEa', 'reference'],
    ['created_after=yesterday', 'created_after'],
    ['created_after=2026-13-01T00:00:00Z', 'created_after'],
    ['created_before=2026-06-30T23:59:60Z', 'created_before'],
    ['cursor=', 'cursor'],
    [`cursor=${'A'.repeat(43)}`, 'cursor'],
    [`cursor=${'A'.repeat(5000)}`, 'cursor'],
    ['referense=a', 'referense'],
  ])('refuses ?%s and names the field', async ([query, path]) => {
    const answer = await anApi().get(`${PATH}?${query}`)
    expect([answer.statusCode, answer.json()]).toMatchObject([
      400,
      {
        error: {
          code: 'INVALID_PAYLOAD',
          details: expect.arrayContaining([expect.objectContaining({ in: 'query', path })]),
        },
      },
    ])
  })

  test('continues only the list that a cursor is of, also after a rotation of the keys', async () => {
    const keys = { ring: [Buffer.alloc(32, 1)] as [Buffer, ...Buffer[]] }
    const api = anApi({ ports: { keys: () => keys.ring } })
    for (const seconds of [3, 2, 1]) await ended(api, seconds, { reference: 'a' })
    const { next_cursor: cursor = '' }: RenderPage = (await api.get(`${PATH}?limit=1&reference=a`)).json()
    const statusOf = async (query: string, headers = {}) => (await api.get(`${PATH}?${query}`, headers)).statusCode
    expect(await statusOf(`cursor=${cursor}&reference=a&limit=9`)).toBe(200)
    keys.ring = [Buffer.alloc(32, 2), Buffer.alloc(32, 1)]
    expect(await statusOf(`cursor=${cursor}&reference=a`)).toBe(200)
    for (const other of [
      '',
      '&reference=b',
      '&reference=a&status=failed',
      '&reference=a&created_after=2026-01-01T00:00:00Z',
    ])
      expect(await statusOf(`cursor=${cursor}${other}`), other).toBe(400)
    expect(await statusOf(`cursor=${cursor}&reference=a`, { authorization: `Bearer ${FOREIGN_KEY}` })).toBe(400)
    keys.ring = [Buffer.alloc(32, 2)]
    expect(await statusOf(`cursor=${cursor}&reference=a`)).toBe(400)
  })

  test('is refused while renders may be missing, and says when to try again', async () => {
    const page = () => Promise.reject(new RenderListIncomplete('not yet'))
    const answer = await anApi({ ports: { list: { page, count: page, remove: page } } }).get(PATH)
    expect([answer.statusCode, answer.json()]).toMatchObject([
      503,
      { error: { code: 'RENDER_UNAVAILABLE', reason: 'list_incomplete' } },
    ])
    expect(answer.headers['retry-after']).toBe('5')
  })
})
