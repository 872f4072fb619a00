/** Tests what the client sends, when it sends it again, and how it reads the answers. Only the tests move the clock. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type Answer,
  aClient,
  accepted,
  broken,
  errorOf,
  ID,
  INPUT,
  json,
  KEY,
  pdf,
  record,
  refusal,
} from '../../test/fixture/api/client.ts'
import { type ClientOptions, createClient } from './client.ts'
import { VERSION } from './transport.ts'

describe('a render', () => {
  test('says neither pages nor warnings if a proxy has removed their headers', async () => {
    const bare = (request: Request) => {
      const answer = pdf(request)
      if (!(answer instanceof Response)) throw new Error('it is an answer')
      for (const name of ['pages', 'warnings']) answer.headers.delete(`x-service-${name}`)
      return answer
    }
    const { pages, warningCount } = await aClient([bare]).client.render(INPUT)
    expect([pages, warningCount]).toEqual([undefined, undefined])
  })

  test('is sent as the service takes it, and comes back with all that is said of it', async () => {
    const { client, asked } = aClient([pdf])
    const result = await client.render(INPUT, { idempotencyKey: 'order-1' })
    expect(result).toEqual({
      pdf: new TextEncoder().encode('%PDF-1.7'),
      renderId: ID,
      renderMs: 42,
      pages: 3,
      warningCount: 0,
      filename: 'zażółć.pdf',
      isReplayed: false,
      quota: { limit: 1000, remaining: 0 },
      rate: { limit: 60, remaining: 59, resetsAt: '2026-11-21T12:01:00.000Z' },
    })
    const [request] = asked
    expect([request?.method, request?.url]).toEqual(['POST', 'https://pdf.example.com/api/v1/render'])
    expect(await request?.json()).toEqual({ ...INPUT, mode: 'sync' })
    expect(request?.redirect).toBe('manual')
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'idempotency-key': 'order-1',
      'user-agent': `platen-client-js/${VERSION}`,
    })
  })

  test('has a key of its own in all its attempts, and another one the next time', async () => {
    const { client, asked } = aClient([broken, pdf])
    await client.render(INPUT)
    await client.render(INPUT)
    const keys = asked.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
  })

  test('has the word of the brand in its headers', async () => {
    const answer: Answer = () =>
      new Response('%PDF-', { headers: { 'content-type': 'application/pdf', 'x-acme-render-id': ID } })
    expect((await aClient([answer], { brand: 'acme' }).client.render(INPUT)).renderId).toBe(ID)
    expect((await errorOf(aClient([answer]).client.render(INPUT))).code).toBe('INVALID_ANSWER')
  })

  test('that was accepted is told by its id', async () => {
    const { client, asked } = aClient([accepted])
    const result = await client.renderAsync(INPUT)
    expect(result).toEqual({ renderId: ID, pollUrl: `/api/v1/render/${ID}`, isReplayed: false })
    expect(await asked[0]?.json()).toEqual({ ...INPUT, mode: 'async' })
  })

  test('is spelled as the service takes it, but for what the caller names', async () => {
    const { client, asked } = aClient([accepted])
    const free = { data: { buyerName: { vatId: 1 }, buyer_name: 2 }, metadata: { orderId: 'a', order_id: 'b' } }
    const options = { timeZone: 'Europe/Warsaw', margin: { top: 1 } }
    await client.renderAsync({ template: 'invoice', ...free, options, webhookUrl: 'https://x.example' })
    expect(await asked[0]?.json()).toEqual({
      template: 'invoice',
      ...free,
      options: { time_zone: 'Europe/Warsaw', margin: { top: 1 } },
      webhook_url: 'https://x.example',
      mode: 'async',
    })
  })
})

describe('an address', () => {
  test.for([
    ['https://pdf.example.com', 'https://pdf.example.com/api/v1/render/x'],
    ['https://pdf.example.com/', 'https://pdf.example.com/api/v1/render/x'],
    ['https://pdf.example.com/api/v1', 'https://pdf.example.com/api/v1/render/x'],
    ['https://pdf.example.com/api/v1/', 'https://pdf.example.com/api/v1/render/x'],
    ['http://gateway:8080/pdf', 'http://gateway:8080/pdf/api/v1/render/x'],
  ])('%s leads to %s', async ([baseUrl = '', url]) => {
    const { client, asked } = aClient([record({})], { baseUrl })
    await client.getRender('x')
    expect(asked[0]?.url).toBe(url)
  })

  test('has its parts escaped', async () => {
    const { client, asked } = aClient([record({})])
    await client.getRender('../templates?x=')
    expect(asked[0]?.url).toBe('https://pdf.example.com/api/v1/render/..%2Ftemplates%3Fx%3D')
  })

  test.for<[string, Partial<ClientOptions>]>([
    ['an address that is none', { baseUrl: 'pdf.example.com' }],
    ['an address of another scheme', { baseUrl: 'ftp://pdf.example.com' }],
    ['an empty key', { apiKey: '' }],
    ['a key with a line feed behind it', { apiKey: `${KEY}\n` }],
    ['retries that are no number', { retries: Number.NaN }],
    ['a key that is not set', { apiKey: undefined as unknown as string }],
  ])('%s is refused when the client is made', ([, options]) => {
    expect(() => aClient([], options)).toThrow(TypeError)
  })
})

describe('an option that is wrong', () => {
  test.for<[string, Partial<Record<keyof ClientOptions, unknown>>]>([
    ['apiKey is missing', { apiKey: undefined }],
    ['apiKey is missing', { apiKey: null }],
    ['apiKey is missing', { apiKey: '' }],
    ["apiKey has white space at its end: trim the file's line end", { apiKey: `${KEY}\n` }],
    ['apiKey has white space at its end', { apiKey: `${KEY}\r\n` }],
    ['apiKey has white space at its beginning', { apiKey: ` ${KEY}` }],
    ['apiKey has white space at its beginning', { apiKey: `\uFEFF${KEY}` }],
    ['apiKey has white space inside', { apiKey: `${KEY} x` }],
    ['apiKey has a character that no API key has', { apiKey: `${KEY}ż` }],
    ['apiKey must be a text', { apiKey: 42 }],
    ['baseUrl is missing', { baseUrl: undefined }],
    ['baseUrl is missing', { baseUrl: '' }],
    ['baseUrl must begin with https://', { baseUrl: 'pdf.example.com' }],
    ['baseUrl must begin with https://', { baseUrl: 'localhost:8080' }],
    ['baseUrl must begin with https://', { baseUrl: 'ftp://pdf.example.com' }],
    ['baseUrl is not a URL', { baseUrl: 'https://' }],
    ['retries must be', { retries: -1 }],
  ])('is named with its fault: %s', ([message, options]) => {
    const given = { baseUrl: 'https://pdf.example.com', apiKey: KEY, ...options } as ClientOptions
    const make = () => createClient(given)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(message)
    expect(make).not.toThrow(KEY)
  })

  test('is one that is absent, too', () => {
    expect(() => createClient({} as ClientOptions)).toThrow('apiKey is missing')
    expect(() => createClient({ apiKey: KEY } as ClientOptions)).toThrow('baseUrl is missing')
  })

  test.for(['', 'x'.repeat(256), 'a\n', 'ż'])('is an idempotencyKey that no header can have: %j', async (key) => {
    const { client, asked } = aClient([pdf])
    await expect(client.render(INPUT, { idempotencyKey: key })).rejects.toThrow('idempotencyKey must have')
    expect(asked).toEqual([])
  })
})

describe('the options of one call', () => {
  const ready = record({ status: 'succeeded', pdf_url: 'https://storage.example.com/x.pdf' })

  test('are headers beside those of the client', async () => {
    const { client, asked } = aClient([pdf])
    await client.render(INPUT, { idempotencyKey: 'order-1', headers: { 'X-Trace': 't', 'User-Agent': 'shop/2' } })
    await client.render(INPUT, { idempotencyKey: 'order-1' })
    expect(asked.map(({ headers }) => Object.fromEntries(headers))).toEqual(
      [{ 'x-trace': 't', 'user-agent': 'shop/2' }, { 'user-agent': `platen-client-js/${VERSION}` }].map((own) => ({
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        'idempotency-key': 'order-1',
        ...own,
      })),
    )
    await client.downloadPdf({ pdfUrl: 'https://storage.example.com/x.pdf' }, { headers: { 'x-trace': 'd' } })
    expect(Object.fromEntries(asked[2]?.headers ?? [])).toEqual({ 'x-trace': 'd' })
  })

  test('have no User-Agent of the client in a browser or its workers', async () => {
    const agents = ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Deno/2.5.0', undefined]
    const sent: (string | null | undefined)[] = []
    for (const userAgent of agents) {
      vi.stubGlobal('navigator', { userAgent })
      onTestFinished(() => void vi.unstubAllGlobals())
      const { client, asked } = aClient([pdf])
      await client.render(INPUT)
      sent.push(asked[0]?.headers.get('user-agent'))
    }
    const own = `platen-client-js/${VERSION}`
    expect(sent).toEqual([null, own, own])
  })

  test('are headers of each of its requests', async () => {
    const call = { headers: { 'x-trace': 't' } }
    const traces = (asked: readonly Request[]) => asked.map(({ headers }) => headers.get('x-trace'))
    const awaited = aClient([accepted, record({}), ready, pdf])
    await awaited.client.renderAndWait(INPUT, call)
    expect(traces(awaited.asked)).toEqual(['t', 't', 't', 't'])
    const pages = [json({ renders: [{ render_id: ID }], next_cursor: 'c' }), json({ renders: [] })]
    const listed = aClient(pages)
    for await (const _ of listed.client.allRenders({ ...call, retries: 1, template: 'invoice' }));
    expect(traces(listed.asked)).toEqual(['t', 't'])
    expect(listed.asked.map(({ url }) => new URL(url).search)).toEqual([
      '?template=invoice',
      '?template=invoice&cursor=c',
    ])
    const templates = aClient([json({ templates: [] })])
    await templates.client.listTemplates(call)
    expect(traces(templates.asked)).toEqual(['t'])
  })

  test.for<[Record<string, unknown>, string]>([
    [{ Authorization: 'Bearer other' }, 'the client sets authorization itself'],
    [{ 'content-type': 'text/plain' }, 'the client sets content-type itself'],
    [{ 'Content-Length': '1' }, 'the client sets content-length itself'],
    [{ host: 'a' }, 'the client sets host itself'],
    [{ 'Idempotency-Key': 'a' }, 'as idempotencyKey'],
    [{ 'x-a': 'other\r\nx-b: c' }, 'the value of x-a'],
    [{ 'x-a': 'ż' }, 'the value of x-a'],
    [{ 'x-a': undefined }, 'the value of x-a'],
    [{ 'x a': 'other' }, 'a name must have'],
    [{ '': 'other' }, 'a name must have'],
  ])('are not headers that the client sets or that cannot be sent: %j', async ([headers, message]) => {
    const { client, asked } = aClient([pdf])
    const given = { headers: headers as Record<string, string> }
    for (const call of [client.render(INPUT, given), client.getPdf(ID, given)]) {
      const error = await call.catch((error: unknown) => error)
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toContain(message)
      expect(String(error)).not.toContain('other')
    }
    expect(asked).toEqual([])
  })

  test('are retries in the place of those of the client', async () => {
    const { client, asked } = aClient([broken], { retries: 0 })
    await errorOf(client.getUsage({ retries: 2 }))
    expect(asked.length).toBe(3)
    await errorOf(client.renderAndWait(INPUT, { retries: 1 }))
    expect(asked.length).toBe(5)
    await errorOf(client.redeliver('d', { retries: 3 }))
    await errorOf(client.getUsage())
    expect(asked.length).toBe(7)
    await expect(client.getUsage({ retries: Number.NaN })).rejects.toThrow('retries must be')
  })

  test('and what started a render or a batch is told by the id of its request', async () => {
    const id = { 'x-request-id': 'r-1' }
    const started = json({ render_id: ID, batch_id: 'b', total: 1, poll_url: '/x' }, 202, id)
    const made: Answer = async (request) => {
      const answer = await pdf(request)
      answer.headers.set('x-request-id', 'r-1')
      return answer
    }
    expect((await aClient([made]).client.render(INPUT)).requestId).toBe('r-1')
    expect((await aClient([made]).client.renderTo(INPUT, async () => {})).requestId).toBe('r-1')
    expect((await aClient([started]).client.renderAsync(INPUT)).requestId).toBe('r-1')
    expect((await aClient([started, ready, pdf]).client.renderAndWait(INPUT)).requestId).toBe('r-1')
    const batch = { template: 'invoice', items: [{ data: {} }] }
    expect((await aClient([started]).client.createBatch(batch)).requestId).toBe('r-1')
  })
})

describe('an error', () => {
  test('has everything that the service says', async () => {
    const details = [{ in: 'body', path: '/data/number', message: 'must be string' }]
    const body = { error: { code: 'VALIDATION_FAILED', message: 'data does not fit', request_id: 'r', details } }
    const { client } = aClient([json(body, 422, { 'x-request-id': 'r', 'x-service-render-id': ID })])
    const error = await errorOf(client.render(INPUT))
    expect(error).toMatchObject({
      name: 'PlatenError',
      code: 'VALIDATION_FAILED',
      message: 'data does not fit',
      status: 422,
      requestId: 'r',
      renderId: ID,
      details,
      retryAfterSeconds: undefined,
    })
  })

  test.for<[string, Answer]>([
    ['a page of a proxy', () => new Response('<html>', { status: 520 })],
    ['JSON of somebody else', json({ message: 'no' }, 404)],
    ['nothing', () => new Response(null, { status: 500 })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: 'https://elsewhere.example' } })],
    ['a page with status 200', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
  ])('is INVALID_ANSWER where the answer is %s', async ([, answer]) => {
    const { client, asked } = aClient([answer])
    expect((await errorOf(client.getRender(ID))).code).toBe('INVALID_ANSWER')
    expect((await errorOf(client.render(INPUT))).code).toBe('INVALID_ANSWER')
    expect(asked.length).toBe(2)
  })

  test('never holds the key', async () => {
    for (const answer of [broken, refusal(401, 'UNAUTHORIZED')]) {
      const error = await errorOf(aClient([answer]).client.getRender(ID))
      expect(JSON.stringify([error.message, error.stack, error])).not.toContain(KEY)
    }
  })
})

describe('what may pass', () => {
  test.for<[string, Answer]>([
    ['no connection', broken],
    ['a rate', refusal(429, 'RATE_LIMITED')],
    ['no renderer', refusal(503, 'RENDER_UNAVAILABLE')],
    ...[502, 503, 504].map((status): [string, Answer] => [`a proxy's ${status}`, () => new Response('', { status })]),
    ["a proxy's error in JSON", json({ error: { code: 'BAD_GATEWAY', message: 'no upstream' } }, 502)],
    [
      'a connection that breaks within the answer',
      () => new Response(new ReadableStream({ pull: (stream) => stream.error(new TypeError('terminated')) })),
    ],
  ])('is tried again: %s', async ([, answer]) => {
    const get = aClient([answer, answer, record({ status: 'running' })])
    expect((await get.client.getRender(ID)).status).toBe('running')
    expect(get.waits).toEqual([250, 500])
    const post = aClient([answer, accepted])
    expect((await post.client.renderAsync(INPUT)).renderId).toBe(ID)
  })

  test('is given up after so many retries, with the last error', async () => {
    const { client, asked, waits } = aClient([refusal(503, 'RENDER_UNAVAILABLE')])
    expect((await errorOf(client.getRender(ID))).code).toBe('RENDER_UNAVAILABLE')
    expect(asked.length).toBe(5)
    expect(waits).toEqual([250, 500, 1000, 2000])
    const none = aClient([broken], { retries: 0 })
    expect((await errorOf(none.client.getRender(ID))).code).toBe('NETWORK_ERROR')
    expect(none.asked.length).toBe(1)
  })

  test.for([
    ['seconds', '7', 7],
    ['a date', 'Sat, 21 Nov 2026 12:00:07 GMT', 7],
    ['a date that is over', 'Sat, 21 Nov 2026 11:00:00 GMT', 0],
    ['neither', 'soon', undefined],
  ] as const)('is never tried sooner than Retry-After says, in %s', async ([, text, seconds]) => {
    const { client, waits } = aClient([refusal(429, 'RATE_LIMITED', { 'retry-after': text }), record({})])
    await client.getRender(ID)
    expect(waits).toEqual([(seconds ?? 0) * 1000 + 250])
    const error = await errorOf(
      aClient([refusal(429, 'RATE_LIMITED', { 'retry-after': text })], { retries: 0 }).client.getRender(ID),
    )
    expect(error.retryAfterSeconds).toBe(seconds)
  })

  test('is not waited for when the wait would be longer than the call may take', async () => {
    const { client, asked, waits } = aClient([refusal(429, 'RATE_LIMITED', { 'retry-after': '3600' })])
    expect((await errorOf(client.render(INPUT))).retryAfterSeconds).toBe(3600)
    expect([asked.length, waits.length]).toEqual([1, 0])
  })

  test('is the first request of a key, waited for however often it says so, and no retry', async () => {
    const busy = refusal(409, 'IDEMPOTENCY_IN_PROGRESS', { 'retry-after': '1' })
    const { client, asked } = aClient([broken, ...Array<Answer>(20).fill(busy), pdf])
    expect((await client.render(INPUT)).renderId).toBe(ID)
    expect(asked.length).toBe(22)
    const endless = aClient([busy], { timeoutMs: 60_000 })
    expect((await errorOf(endless.client.render(INPUT))).code).toBe('IDEMPOTENCY_IN_PROGRESS')
    expect(endless.asked.length).toBeGreaterThan(30)
  })

  test('is the PDF of a render whose end is not stored yet', async () => {
    const early = refusal(409, 'RENDER_NOT_FINISHED', { 'retry-after': '1' })
    const { client, waits } = aClient([early, pdf])
    expect(await client.getPdf(ID)).toEqual(new TextEncoder().encode('%PDF-1.7'))
    expect(waits).toEqual([1250])
    expect((await errorOf(aClient([early]).client.getPdf(ID))).code).toBe('RENDER_NOT_FINISHED')
  })

  test.for<[number, string]>([
    [400, 'INVALID_PAYLOAD'],
    [401, 'UNAUTHORIZED'],
    [402, 'PAYMENT_REQUIRED'],
    [404, 'TEMPLATE_NOT_FOUND'],
    [408, 'REQUEST_TIMEOUT'],
    [410, 'RENDER_EXPIRED'],
    [422, 'IDEMPOTENCY_MISMATCH'],
    [500, 'INTERNAL_ERROR'],
  ])('is not what status %i %s says', async ([status, code]) => {
    const { client, asked } = aClient([refusal(status, code)])
    expect((await errorOf(client.render(INPUT))).code).toBe(code)
    expect(asked.length).toBe(1)
  })

  test.for([502, 504])('is not a %i that the service itself has answered', async (status) => {
    const { client, asked } = aClient([refusal(status, 'UPSTREAM_FAILED')])
    expect((await errorOf(client.render(INPUT))).code).toBe('UPSTREAM_FAILED')
    expect(asked.length).toBe(1)
  })

  test('is left to the caller where sending it twice would do it twice', async () => {
    const proxy: Answer = () => new Response('', { status: 502 })
    for (const answer of [broken, proxy, refusal(429, 'RATE_LIMITED'), refusal(503, 'RENDER_UNAVAILABLE')]) {
      const { client, asked } = aClient([answer])
      await errorOf(client.redeliver('d'))
      await errorOf(client.testWebhook('https://x.example'))
      expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
        'POST https://pdf.example.com/api/v1/deliveries/d/redeliver',
        'POST https://pdf.example.com/api/v1/webhooks/test',
      ])
      expect(await asked[1]?.json()).toEqual({ url: 'https://x.example' })
    }
  })
})

describe('the end of a call', () => {
  const hanging: Answer = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

  test('is its time', async () => {
    const { client, asked, pass } = aClient([hanging], { timeoutMs: 5000 })
    const call = errorOf(client.render(INPUT))
    pass(5000)
    expect(await call).toMatchObject({ code: 'TIMED_OUT', status: undefined })
    expect(asked.length).toBe(1)
  })

  test('is the reason of its signal, while it is under way and while it waits', async () => {
    const reason = new Error('the user has left')
    const underWay = new AbortController()
    const call = aClient([hanging]).client.render(INPUT, { signal: underWay.signal })
    underWay.abort(reason)
    await expect(call).rejects.toBe(reason)
    const waiting = new AbortController()
    const answer: Answer = (request) => {
      waiting.abort(reason)
      return refusal(503, 'RENDER_UNAVAILABLE')(request)
    }
    await expect(aClient([answer]).client.getRender(ID, { signal: waiting.signal })).rejects.toBe(reason)
    const before = aClient([accepted])
    await expect(before.client.renderAsync(INPUT, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(before.asked).toEqual([])
  })
})
