import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import { anApi, FOREIGN_KEY } from '../../../../test/fixture/api.ts'
import { aTemplate } from '../../../../test/fixture/build.ts'

const PATH = '/api/v1/templates'

function templates(count: number) {
  return Array.from({ length: count }, (_, at) =>
    aTemplate({ code: `t${String(at + 1).padStart(3, '0')}` as TemplateCode }),
  )
}

describe('GET /templates', () => {
  test('lists what a caller needs to fill a template, and the one field alone', async () => {
    const variablesSchema = { type: 'object', properties: { number: { type: 'string' } } }
    const api = anApi({ templates: [aTemplate({ variablesSchema, version: 3 })] })
    expect((await api.get(PATH)).json()).toEqual({
      templates: [{ code: 'invoice', name: 'Invoice', version: 3, variables_schema: variablesSchema }],
    })
  })

  test.for([{ type: 'object' }, {}, { type: 'object', allOf: [{ required: ['a'] }] }])(
    'lists the schema %o with its type and its properties',
    async (variablesSchema) => {
      const api = anApi({ templates: [aTemplate({ variablesSchema })] })
      const [shown] = (await api.get(PATH)).json().templates
      expect(shown.variables_schema).toEqual({ type: 'object', properties: {}, ...variablesSchema })
    },
  )

  test('lists nothing to a tenant that has published nothing', async () => {
    const answer = await anApi().get(PATH, { authorization: `Bearer ${FOREIGN_KEY}` })
    expect(answer.json()).toEqual({ templates: [] })
    expect(answer.headers['x-total-count']).toBe('0')
  })

  test.for([
    ['', 45, 't001', 20, ['first=1', 'next=2', 'last=3']],
    ['?page=2', 45, 't021', 20, ['first=1', 'prev=1', 'next=3', 'last=3']],
    ['?page=3', 45, 't041', 5, ['first=1', 'prev=2', 'last=3']],
    ['?page=4', 45, undefined, 0, ['first=1', 'prev=3', 'last=3']],
    ['?page=9', 45, undefined, 0, ['first=1', 'prev=3', 'last=3']],
    ['?per_page=100', 45, 't001', 45, ['first=1', 'last=1']],
    ['?page=2&per_page=1', 3, 't002', 1, ['first=1', 'prev=1', 'next=3', 'last=3']],
    ['?page=1000000', 45, undefined, 0, ['first=1', 'prev=3', 'last=3']],
    ['', 20, 't001', 20, ['first=1', 'last=1']],
    ['', 0, undefined, 0, ['first=1', 'last=1']],
  ] as const)(
    'shows of %s of %i templates the right ones and the way to the others',
    async ([query, total, first, count, links]) => {
      const answer = await anApi({ templates: templates(total) }).get(`${PATH}${query}`)
      const listed: { code: string }[] = answer.json().templates
      expect([listed[0]?.code, listed.length]).toEqual([first, count])
      expect(answer.headers['x-total-count']).toBe(`${total}`)
      const link = String(answer.headers['link'])
      expect([...link.matchAll(/[?&]page=(\d+)[^>]*>; rel="(\w+)"/g)].map(([, page, rel]) => `${rel}=${page}`)).toEqual(
        links,
      )
    },
  )

  test('links to itself and not to where a Host header points', async () => {
    const answer = await anApi({ templates: templates(21) }).get(PATH, { host: 'evil.example' })
    expect(answer.headers['link']).toBe(
      '</api/v1/templates?page=1&per_page=20>; rel="first", </api/v1/templates?page=2&per_page=20>; rel="next", </api/v1/templates?page=2&per_page=20>; rel="last"',
    )
  })

  test.for([
    ['page=0', 'page', 'must be >= 1'],
    ['page=-1', 'page', 'must be >= 1'],
    ['page=1.5', 'page', 'must be integer'],
    ['page=one', 'page', 'must be integer'],
    ['page=', 'page', 'must be integer'],
    ['page=1&page=2', 'page', 'must be integer'],
    ['page=99999999999999999999', 'page', 'must be integer'],
    ['page=1000001', 'page', 'must be <= 1000000'],
    ['limit=5', 'limit', 'is not known: there are page, per_page'],
    ['perPage=5', 'perPage', 'is not a known field (did you mean per_page?)'],
    ['per_page=0', 'per_page', 'must be >= 1'],
    ['per_page=101', 'per_page', 'must be <= 100'],
  ])('refuses %s with 400 and the parameter', async ([query, path, message]) => {
    const answer = await anApi().get(`${PATH}?${query}`)
    expect(answer.statusCode).toBe(400)
    expect(answer.json().error).toMatchObject({
      code: 'INVALID_PAYLOAD',
      message: `The request is malformed: the query parameter ${path} ${message}.`,
      details: [{ in: 'query', path, message }],
    })
  })
})
