import { describe, expect, test } from 'vitest'
import { aClient, ID, json } from '../../../test/fixture/api/client.ts'

const queryOf = (request: Request | undefined) => Object.fromEntries(new URL(request?.url ?? '').searchParams)

describe('the list of templates', () => {
  const wire = (code: string) => ({ code, name: code, version: 1, variables_schema: { properties: { vat_id: {} } } })
  const template = (code: string) => ({ code, name: code, version: 1, variablesSchema: { properties: { vat_id: {} } } })
  const pages = [
    json({ templates: [wire('a'), wire('b')] }, 200, {
      'x-total-count': '3',
      link: '</api/v1/templates?page=1>; rel="first", </api/v1/templates?page=2>; rel="next"',
    }),
    json({ templates: [wire('c')] }, 200, { 'x-total-count': '3', link: '</api/v1/templates?page=1>; rel="prev"' }),
  ]

  test('comes by the page', async () => {
    const { client, asked } = aClient(pages)
    const page = await client.listTemplates({ page: 1, perPage: 2 })
    expect(page).toEqual({ templates: [template('a'), template('b')], total: 3, nextPage: 2 })
    expect((await client.listTemplates({ page: 2, perPage: 2 })).nextPage).toBeUndefined()
    expect(asked.map(queryOf)).toEqual([
      { page: '1', per_page: '2' },
      { page: '2', per_page: '2' },
    ])
  })

  test('is walked from the first page to the last, and no further than asked', async () => {
    const all = aClient(pages)
    const codes = []
    for await (const { code } of all.client.allTemplates({ perPage: 2 })) codes.push(code)
    expect(codes).toEqual(['a', 'b', 'c'])
    const some = aClient(pages)
    for await (const _ of some.client.allTemplates()) break
    expect(some.asked.length).toBe(1)
  })
})

describe('the list of renders', () => {
  const pages = [
    json({ renders: [{ render_id: 'a', metadata: { order_id: '1' } }], next_cursor: 'next' }),
    json({ renders: [{ render_id: 'b' }] }),
  ]

  test('takes its filters, and comes by the page', async () => {
    const { client, asked } = aClient(pages)
    const createdAfter = new Date(Date.UTC(2026, 10, 21))
    const page = await client.listRenders({ reference: 'a&b', createdAfter, limit: 1, timeoutMs: 5000 })
    expect(page).toEqual({ renders: [{ renderId: 'a', metadata: { order_id: '1' } }], nextCursor: 'next' })
    const query = { reference: 'a&b', created_after: '2026-11-21T00:00:00.000Z', limit: '1' }
    expect(queryOf(asked[0])).toEqual(query)
  })

  test('is walked by its cursors', async () => {
    const { client, asked } = aClient(pages)
    const ids = []
    for await (const { renderId } of client.allRenders({ status: 'failed', batch: 'b-1' })) ids.push(renderId)
    expect(ids).toEqual(['a', 'b'])
    const query = { status: 'failed', batch: 'b-1' }
    expect(asked.map(queryOf)).toEqual([query, { ...query, cursor: 'next' }])
  })
})

describe('the list of deliveries', () => {
  const pages = [
    json({ deliveries: [{ id: 'a', render_id: ID, last_attempt: { status_code: 503 } }], next_cursor: 'next' }),
    json({ deliveries: [{ id: 'b' }] }),
  ]

  test('is that of a render', async () => {
    const delivery = { id: 'd', event: 'render.succeeded', url: 'https://x.example', status: 'scheduled' }
    const { client, asked } = aClient([json({ deliveries: [{ ...delivery, created_at: 'now' }] })])
    expect(await client.listDeliveries(ID)).toEqual([{ ...delivery, createdAt: 'now' }])
    expect(asked[0]?.url).toBe(`https://pdf.example.com/api/v1/render/${ID}/deliveries`)
  })

  test('is that of all renders, takes its filters, and comes by the page', async () => {
    const { client, asked } = aClient(pages)
    const createdBefore = new Date(Date.UTC(2026, 10, 21))
    const page = await client.listAllDeliveries({ status: 'exhausted', createdBefore, limit: 1, timeoutMs: 5000 })
    const delivery = { id: 'a', renderId: ID, lastAttempt: { statusCode: 503 } }
    expect(page).toEqual({ deliveries: [delivery], nextCursor: 'next' })
    expect(new URL(asked[0]?.url ?? '').pathname).toBe('/api/v1/deliveries')
    expect(queryOf(asked[0])).toEqual({ status: 'exhausted', created_before: '2026-11-21T00:00:00.000Z', limit: '1' })
  })

  test('is walked by its cursors', async () => {
    const { client, asked } = aClient(pages)
    const ids = await Array.fromAsync(client.allDeliveries({ template: 'invoice' }), ({ id }) => id)
    expect(ids).toEqual(['a', 'b'])
    expect(asked.map(queryOf)).toEqual([{ template: 'invoice' }, { template: 'invoice', cursor: 'next' }])
  })
})
