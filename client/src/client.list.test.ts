/** Tests the lists, page by page and as a whole. */
import { describe, expect, test } from 'vitest'
import { type Answer, aClient, ID, json } from '../../test/fixture/api/client.ts'

describe('lists', () => {
  const template = (code: string) => ({ code, name: code, version: 1, variables_schema: {} })
  const pages: readonly Answer[] = [
    json({ templates: [template('a'), template('b')] }, 200, {
      'x-total-count': '3',
      link: '</api/v1/templates?page=1>; rel="first", </api/v1/templates?page=2>; rel="next"',
    }),
    json({ templates: [template('c')] }, 200, { 'x-total-count': '3', link: '</api/v1/templates?page=1>; rel="prev"' }),
  ]

  test('of templates come by the page', async () => {
    const { client, asked } = aClient(pages)
    const page = await client.listTemplates({ page: 1, perPage: 2 })
    expect(page).toEqual({ templates: [template('a'), template('b')], total: 3, nextPage: 2 })
    expect((await client.listTemplates({ page: 2, perPage: 2 })).nextPage).toBeUndefined()
    expect(asked.map(({ url }) => new URL(url).search)).toEqual(['?page=1&per_page=2', '?page=2&per_page=2'])
  })

  test('of templates are walked from the first page to the last, and no further than asked', async () => {
    const all = aClient(pages)
    const codes = []
    for await (const { code } of all.client.allTemplates({ perPage: 2 })) codes.push(code)
    expect(codes).toEqual(['a', 'b', 'c'])
    const some = aClient(pages)
    for await (const _ of some.client.allTemplates()) break
    expect(some.asked.length).toBe(1)
  })

  test('of deliveries are those of a render', async () => {
    const delivery = { id: 'd', event: 'render.succeeded', url: 'https://x.example', status: 'scheduled' }
    const { client, asked } = aClient([json({ deliveries: [delivery] })])
    expect(await client.listDeliveries(ID)).toEqual([delivery])
    expect(asked[0]?.url).toBe(`https://pdf.example.com/api/v1/render/${ID}/deliveries`)
  })
})
