import { describe, expect, test } from 'vitest'
import { anApi } from '../../../../test/fixture/api.ts'
import { html, prose } from './html.ts'
import { commandOf } from './operation.ts'
import type { Document } from './page.ts'

const open = async (headers: Record<string, string> = {}, api = anApi()) =>
  await api.app.inject({ url: '/docs', headers })

describe('GET /docs', () => {
  test('shows every operation, event, schema and code of the OpenAPI document', async () => {
    const api = anApi()
    const { body, headers, statusCode } = await open({}, api)
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    // The document is ours.
    const { paths, webhooks, components } = api.app.swagger() as unknown as Document
    const operations = [...Object.values(paths), ...Object.values(webhooks)].flatMap((methods) =>
      Object.values(methods),
    )
    const ids = [
      ...operations.map(({ operationId }) => operationId),
      ...Object.keys(components.schemas).map((name) => `schema-${name}`),
    ]
    expect(ids.filter((id) => !body.includes(`<article id="${id}">`))).toEqual([])
    const codes = components.schemas['ErrorCode']?.enum ?? []
    expect(codes.length).toBeGreaterThan(20)
    expect(codes.filter((code) => !body.includes(`<td><code>${code}</code></td>`))).toEqual([])
    expect(body).not.toMatch(/undefined|\[object/)
  })

  test('links only to what is there, and each id is there once', async () => {
    const { body } = await open()
    const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    const targets = [...body.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(targets.filter((target) => !ids.includes(target))).toEqual([])
    const elsewhere = [...body.matchAll(/ (?:href|src)="(?!#)([^"]+)"/g)].map(([, address]) => address)
    expect(elsewhere).toEqual(['data:,', '/openapi.json'])
  })

  test('has headings in order', async () => {
    const { body } = await open()
    const levels = [...body.matchAll(/<h([1-6])[ >]/g)].map(([, level]) => Number(level))
    expect(levels.filter((level) => level === 1)).toEqual([1])
    expect(levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1)).toEqual([])
  })

  test('allows nothing but its own style', async () => {
    const { body, headers } = await open()
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
      ),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    expect(body).not.toMatch(/<script| style=| on[a-z]+=/i)
  })

  test.for<[string, string]>([
    ['127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['localhost', 'http://localhost'],
    ['[::1]:8080', 'http://[::1]:8080'],
    ['platen-api:8080', 'http://platen-api:8080'],
    ['pdf.example.org', 'https://pdf.example.org'],
    ['a"><script>', 'https://pdf.example.com'],
    ['$(reboot)', 'https://pdf.example.com'],
    ["a'b", 'https://pdf.example.com'],
  ])('has commands for the address at which it was reached: %s', async ([host, origin]) => {
    const { body } = await open({ host })
    expect(body).toContain(`curl -sS &quot;${origin}/api/v1/render&quot;`)
    expect(body).not.toContain('\0')
    expect(body).not.toContain('<script>')
  })

  test('has the address that a trusted proxy names', async () => {
    const { traffic } = anApi().ports.settings
    const api = anApi({ settings: { traffic: { ...traffic, trustedProxies: ['127.0.0.1'] } } })
    const headers = { host: 'inside:8080', 'x-forwarded-host': 'pdf.example.org:8443', 'x-forwarded-proto': 'https' }
    expect((await open(headers, api)).body).toContain('https://pdf.example.org:8443/api/v1/render')
    expect((await open(headers)).body).toContain('http://inside:8080/api/v1/render')
  })

  test('names keys and headers by the brand', async () => {
    const { body } = await open({}, anApi({ settings: { brand: 'acme' } }))
    expect(body).toContain('<code>acme_live_…</code>')
    expect(body).toContain('X-Acme-Signature')
    expect(body).not.toContain('X-Service-Signature')
  })

  test('is not sent again to those who have it', async () => {
    const api = anApi()
    const { headers, body } = await open({}, api)
    expect(headers).toMatchObject({ 'cache-control': 'no-cache', 'content-length': `${Buffer.byteLength(body)}` })
    const again = await open({ 'if-none-match': String(headers['etag']) }, api)
    expect([again.statusCode, again.body, again.headers['etag']]).toEqual([304, '', headers['etag']])
    const elsewhere = await open({ 'if-none-match': String(headers['etag']), host: 'pdf.example.org' }, api)
    expect(elsewhere.statusCode).toBe(200)
  })

  test('answers HEAD without the body', async () => {
    const api = anApi()
    const { headers } = await open({}, api)
    const head = await api.app.inject({ method: 'HEAD', url: '/docs' })
    expect([head.statusCode, head.body]).toEqual([200, ''])
    for (const name of ['content-length', 'etag', 'content-security-policy', 'content-type'])
      expect(head.headers[name]).toBe(headers[name])
  })

  test('is given to an address as often as the OpenAPI document', async () => {
    const { traffic } = anApi().ports.settings
    const api = anApi({ settings: { traffic: { ...traffic, addressRefusals: 1 } } })
    const answers = [await open({}, api), await open({}, api), await api.app.inject({ method: 'HEAD', url: '/docs' })]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 429, 429])
  })

  test('allows no other method', async () => {
    const answer = await anApi().call({ method: 'POST', path: '/docs' })
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'GET, HEAD'])
  })
})

test('a command sends an example as it is, and takes what is required from variables', () => {
  const operation = {
    operationId: 'send',
    summary: 'Send',
    description: 'Sends.',
    tags: [],
    security: [{ apiKey: [] }],
    parameters: [
      { name: 'page-size', in: 'query', required: true, schema: {} },
      { name: 'page', in: 'query', schema: {} },
    ],
    responses: {},
  }
  const lines = { schema: {}, example: `{"name":"O'Neill"}\n{"name":"$HOME"}` }
  const route = { method: 'put', path: '/parts/{id}' }
  const requestBody = { content: { 'application/x-ndjson': lines } }
  expect(commandOf({ ...route, operation: { ...operation, requestBody } }, 'https://a.example').split('\n')).toEqual([
    'curl -sS "https://a.example/parts/$ID?page-size=$PAGE_SIZE" \\',
    '  -X PUT \\',
    '  -H "Authorization: Bearer $KEY" \\',
    "  -H 'Content-Type: application/x-ndjson' \\",
    `  --data-binary '{"name":"O'\\''Neill"}`,
    `{"name":"$HOME"}'`,
  ])
  const open = { method: 'get', path: '/', operation: { ...operation, security: [], parameters: [] } }
  expect(commandOf(open, 'https://a.example')).toBe('curl -sS "https://a.example/"')
})

test('text in a page is never markup', () => {
  const text = `<b title="a&b">'`
  expect(html`${text}`.markup).toBe('&lt;b title=&quot;a&amp;b&quot;&gt;&#39;')
  expect(prose(`is \`${text}\``).markup).toBe('is <code>&lt;b title=&quot;a&amp;b&quot;&gt;&#39;</code>')
})
