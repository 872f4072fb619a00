/** Events as a caller meets them: over HTTP, at a receiver of its own. */
import { createHash, createHmac } from 'node:crypto'
import type { DeliveryList, DeliveryPage } from '@platen/contract/schema/response.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aCollector, type Collector, exportingTo } from '../conformance/collector.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { ACME_LIVE, ACME_WEBHOOK_SECRET, GLOBEX_LIVE, invoice } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { answering, aReceiver, LOOPBACK_ALLOWED, type Received, type Receiver } from '../topology/receiver.ts'
import { ended, type RenderAnswer, readList, render, request, submit, type TestedService } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

let service: TestedService
let collector: Collector
let receiver: Receiver
beforeAll(async () => {
  collector = await aCollector()
  const exporting = { ...exportingTo(collector), PLATEN_LOG_LEVEL: 'debug' }
  service = await startService({ ...LOOPBACK_ALLOWED, ...exporting, PLATEN_CHROMIUM: 'none' })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await collector[Symbol.asyncDispose]()
})
beforeEach(async () => {
  receiver = ofTest(await aReceiver())
})

const INVOICE = { template: 'invoice', data: invoice(2) }

async function deliveriesOf(id: string): Promise<DeliveryList['deliveries']> {
  const answer = await request(service, { key: ACME_LIVE, path: `/api/v1/render/${id}/deliveries` })
  expect(answer.status).toBe(200)
  // The API's own tests hold its answers against this schema.
  return answer.json()['deliveries'] as DeliveryList['deliveries']
}

/** The one delivery of a render, once it is as wanted. */
async function delivery(
  id: string,
  isWanted: (delivery: DeliveryList['deliveries'][number]) => boolean,
): Promise<DeliveryList['deliveries'][number]> {
  const [found] = await poll(() => deliveriesOf(id)).until(([only]) => only !== undefined && isWanted(only))
  if (found === undefined) throw new Error('there is a delivery')
  return found
}

/** The one request that came. */
function only(): Received {
  expect(receiver.received).toHaveLength(1)
  const [received] = receiver.received
  if (received === undefined) throw new Error('nothing came')
  return received
}

/** As interface and receivers have it: over the time stamp, a dot, and the bytes of the body. */
function expectSigned({ headers, body }: Received): void {
  const text = `${String(headers['x-service-timestamp'])}.${body}`
  const expected = createHmac('sha256', ACME_WEBHOOK_SECRET).update(text).digest('hex')
  expect(headers['x-service-signature']).toBe(`sha256=${expected}`)
}

/** The 32 hexadecimal digits of a UUID as the 26 characters of a ULID. */
function ulidOf(uuid: string): string {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  const number = BigInt(`0x${uuid.replaceAll('-', '')}`)
  return Array.from({ length: 26 }, (_, at) => alphabet[Number((number >> BigInt(5 * (25 - at))) & 31n)]).join('')
}

describe('an async render with a webhook_url', () => {
  test('that succeeds is told of, signed, under the id in its UUID spelling', async () => {
    const id = await submit(service, ACME_LIVE, { ...INVOICE, webhook_url: `${receiver.url}/hook?token=x` })
    await receiver.until(1)
    const received = only()
    expect(received.path).toBe('/hook?token=x')
    expect(received.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'render.succeeded',
    })
    expectSigned(received)
    const record = await ended(service, ACME_LIVE, id)
    const pdf = Buffer.from(await (await fetch(String(record.pdf_url))).arrayBuffer())
    const event = JSON.parse(received.body)
    expect(Object.keys(event)).toEqual([
      'id',
      'render_id',
      'template',
      'status',
      'duration_ms',
      'bytes',
      'artifact_id',
      'pages',
    ])
    expect([ulidOf(event.id), event.render_id, event.template]).toEqual([id, id, INVOICE.template])
    expect(event).toMatchObject({
      status: 'succeeded',
      bytes: record.pdf_size_bytes,
      artifact_id: createHash('sha256').update(pdf).digest('hex'),
    })
    expect(Number.isInteger(event.duration_ms)).toBe(true)
    const { attempts, ...told } = await delivery(id, ({ status }) => status === 'delivered')
    expect(told).toMatchObject({ id: received.headers['x-service-delivery'], event: 'render.succeeded' })
    expect(attempts).toMatchObject([{ result: 'ok', status_code: 204 }])
  })

  test.for([
    [undefined, 'succeeded', undefined],
    [true, 'failed', 'document_warnings'],
  ] as const)('and a warning is told of it, with strict: %j as %s', async ([strict, status, error_code]) => {
    // No font has a character for private use.
    const data = { number: '7', rows: [{ name: '\u{10fffd}' }] }
    const options = strict === undefined ? {} : { strict }
    const id = await submit(service, ACME_LIVE, { ...INVOICE, data, options, webhook_url: receiver.url })
    await receiver.until(1)
    const { warnings, pages } = await ended(service, ACME_LIVE, id)
    expect(warnings).toMatchObject([{ code: 'missing_glyph', message: expect.stringContaining('U+10FFFD') }])
    expect(pages).toBe(strict === undefined ? 1 : undefined)
    const event = JSON.parse(only().body)
    expect(event).toMatchObject({ status, warnings, ...(error_code !== undefined && { error_code }) })
    expect(event.pages).toBe(pages)
  })

  test('that fails is told of with its code; a time-out with the limit that applied', async () => {
    const limits = [
      submit(service, ACME_LIVE, { template: 'broken', data: {}, webhook_url: receiver.url }),
      submit(service, ACME_LIVE, { template: 'busy', data: { rounds: 1e15 }, webhook_url: receiver.url }),
    ]
    const ids = await Promise.all(limits)
    await receiver.until(2)
    const events = receiver.received.map(({ body }) => JSON.parse(body))
    expect(events.map(({ id }) => ulidOf(id)).toSorted()).toEqual(ids.toSorted())
    expect(events.map((event) => Object.keys(event).join())).toEqual(
      Array(2).fill('id,render_id,template,status,error_code,error_reason,error_message'),
    )
    const messages = new Map<string, string>(
      events.map(({ error_code: code, error_message: message }) => [code, message]),
    )
    expect([...messages.keys()].toSorted()).toEqual(['render_timeout', 'template_error'])
    expect(messages.get('render_timeout')).toContain('5 seconds')
    for (const received of receiver.received) expectSigned(received)
  })

  test('is told of again when the receiver failed, under the same delivery id', async () => {
    receiver.answer((request, response) => {
      if (receiver.received.length === 1) response.writeHead(503, { 'content-type': 'text/plain' }).end('not now')
      else answering(200)(request, response)
    })
    const id = await submit(service, ACME_LIVE, { ...INVOICE, webhook_url: receiver.url })
    await receiver.until(2)
    const { attempts } = await delivery(id, ({ status }) => status === 'delivered')
    expect(attempts).toMatchObject([
      { result: 'status', status_code: 503, response_excerpt: 'not now' },
      { result: 'ok', status_code: 200 },
    ])
    const [first, second] = receiver.received
    expect(second?.headers['x-service-delivery']).toBe(first?.headers['x-service-delivery'])
    expect(second?.body).toBe(first?.body)
  })
})

test('a sync render is answered with its PDF whatever its receiver does, which is told once', async () => {
  receiver.answer(() => undefined)
  const answer = await render(service, ACME_LIVE, { ...INVOICE, webhook_url: receiver.url })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/pdf'])
  await receiver.until(1)
  const received = only()
  expectSigned(received)
  const sha256 = createHash('sha256').update(answer.body).digest('hex')
  expect(JSON.parse(received.body)).toMatchObject({ bytes: answer.body.byteLength, artifact_id: sha256 })
})

test('a render without a webhook_url is told of to nobody', async () => {
  const id = await submit(service, ACME_LIVE, INVOICE)
  await ended(service, ACME_LIVE, id)
  expect(await deliveriesOf(id)).toEqual([])
})

describe('POST /deliveries/:id/redeliver', () => {
  test('brings a delivery once more, signed anew under its id', async () => {
    receiver.answer(answering(410))
    const render = await submit(service, ACME_LIVE, { ...INVOICE, webhook_url: receiver.url })
    const { id } = await delivery(render, ({ status }) => status === 'gone')
    receiver.answer(answering(204))
    expect((await redeliver(id)).status).toBe(202)
    await receiver.until(2)
    const { attempts } = await delivery(render, ({ status }) => status === 'delivered')
    expect(attempts.map(({ result }) => result)).toEqual(['status', 'ok'])
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id])
  })

  test('knows no delivery of another tenant', async () => {
    const render = await submit(service, ACME_LIVE, { ...INVOICE, webhook_url: receiver.url })
    const { id } = await delivery(render, ({ status }) => status === 'delivered')
    expect((await redeliver(id, GLOBEX_LIVE)).status).toBe(404)
  })
})

function redeliver(id: string, key = ACME_LIVE): Promise<RenderAnswer> {
  return request(service, { key, path: `/api/v1/deliveries/${id}/redeliver`, body: {} })
}

describe('GET /deliveries', () => {
  const page = async (query: string, key = ACME_LIVE) => {
    const answer = await readList(service, { key, path: `/api/v1/deliveries?${query}` })
    return { status: answer.status, ...(answer.json() as Partial<DeliveryPage>) }
  }

  test('lists the deliveries of all renders, the newest first, by cursor, and finds those that failed', async () => {
    const reference = `order ${Math.random()}`
    receiver.answer((_request, response) => response.writeHead(receiver.received.length === 2 ? 410 : 204).end())
    const ids: string[] = []
    for (let i = 0; i < 3; i++) {
      ids.unshift(await submit(service, ACME_LIVE, { ...INVOICE, reference, webhook_url: receiver.url }))
      await receiver.until(i + 1)
    }
    const query = `reference=${encodeURIComponent(reference)}`
    const isEnded = ({ deliveries = [] }: Partial<DeliveryPage>) =>
      deliveries.length === 3 && deliveries.every(({ status }) => status !== 'scheduled')
    const all = await poll(() => page(query)).until(isEnded)
    const shown = (id: string | undefined, status: string, code: number) => ({
      render_id: id,
      template: INVOICE.template,
      event: 'render.succeeded',
      reference,
      status,
      last_attempt: { status_code: code },
    })
    expect(all.deliveries).toMatchObject([
      shown(ids[0], 'delivered', 204),
      shown(ids[1], 'gone', 410),
      shown(ids[2], 'delivered', 204),
    ])
    expect(JSON.stringify(all)).not.toContain(receiver.url)
    const { deliveries: first = [], next_cursor: cursor } = await page(`${query}&limit=2`)
    const { deliveries: rest = [], next_cursor: end } = await page(`${query}&limit=2&cursor=${cursor}`)
    expect([...first, ...rest]).toEqual(all.deliveries)
    expect(end).toBeUndefined()
    expect((await page(`${query}&status=gone`)).deliveries).toMatchObject([{ render_id: ids[1] }])
    expect((await page(`${query}&template=none`)).deliveries).toEqual([])
    expect((await page(query, GLOBEX_LIVE)).deliveries).toEqual([])
    expect((await page(`${query}&limit=2&cursor=${cursor}`, GLOBEX_LIVE)).status).toBe(400)
  })

  test('has no test event', async () => {
    const path = '/api/v1/webhooks/test'
    const { id } = (await request(service, { key: ACME_LIVE, path, body: { url: receiver.url } })).json()
    const { deliveries = [] } = await page('limit=100')
    expect(deliveries.map((delivery) => delivery.id)).not.toContain(id)
  })
})

describe('POST /webhooks/test', () => {
  const send = (url: string, key = ACME_LIVE) => request(service, { key, path: '/api/v1/webhooks/test', body: { url } })

  test('sends one signed event, and answers what became of it', async () => {
    const answer = await send(`${receiver.url}/hook?token=x`)
    const received = only()
    expect(received).toMatchObject({ path: '/hook?token=x', headers: { 'x-service-event': 'webhook.test' } })
    expectSigned(received)
    const id = String(received.headers['webhook-id'])
    expect(JSON.parse(received.body)).toMatchObject({ id, status: 'test' })
    expect([answer.status, answer.json()]).toMatchObject([
      200,
      { id, event: 'webhook.test', status: 'delivered', attempts: [{ result: 'ok', status_code: 204 }] },
    ])
  })

  test('shows it as any delivery, to its own key alone, and repeats it for nobody', async () => {
    receiver.answer(answering(503))
    const { id, ...sent } = (await send(receiver.url)).json()
    expect(sent).toMatchObject({ status: 'exhausted', attempts: [{ result: 'status', status_code: 503 }] })
    const path = `/api/v1/deliveries/${String(id)}`
    expect((await request(service, { key: ACME_LIVE, path })).json()).toEqual({ id, ...sent })
    expect((await request(service, { key: GLOBEX_LIVE, path })).status).toBe(404)
    expect((await redeliver(String(id))).status).toBe(404)
    expect(receiver.received).toHaveLength(1)
  })
})

test.for([
  'ftp://example.com/',
  'https://user@example.com/',
  'https://10.0.0.1/',
  'https://169.254.169.254/',
  'nonsense',
])('a webhook_url that is %s is refused, and nothing is rendered', async (url) => {
  const answer = await render(service, ACME_LIVE, { ...INVOICE, mode: 'async', webhook_url: url })
  const { error } = answer.json() as { error: { code: string; details: { path: string }[] } }
  expect([answer.status, error.code, error.details.map(({ path }) => path)]).toEqual([
    400,
    'INVALID_PAYLOAD',
    ['/webhook_url'],
  ])
})

describe('the trace of a request', () => {
  const REQUEST = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  const traceparent = `00-${REQUEST.traceId}-${REQUEST.spanId}-01`
  const spansOf = (id: string) => collector.spans.filter(({ attributes }) => attributes['platen.render'] === id)
  /** Resolves when a trace has all its spans: processes export them at different times. */
  const complete = (traceId: string) =>
    collector.until((spans) => spans.filter((span) => span.traceId === traceId).length >= SPANS)
  /** Those of a render with either a webhook or a reply. */
  const SPANS = 12

  /** The names of the spans below a span, as a tree. */
  function treeOf(spanId: string): object {
    const below = collector.spans.filter((span) => span.parentSpanId === spanId)
    return Object.fromEntries(below.map((span) => [span.name, treeOf(span.spanId)]))
  }

  test('goes from admission to the first webhook; a later attempt is a trace of its own with a link', async () => {
    receiver.answer((_request, response) => response.writeHead(receiver.received.length === 1 ? 503 : 204).end())
    const body = { ...INVOICE, mode: 'async', webhook_url: `${receiver.url}/a-secret-path` }
    const headers = { traceparent, tracestate: 'rojo=1', 'x-request-id': 'order 66' }
    const answer = await request(service, { key: ACME_LIVE, body, headers })
    const id = String(answer.json()['render_id'])
    await receiver.until(2)
    await collector.until(() => spansOf(id).filter(({ name }) => name === 'POST').length === 2)
    await complete(REQUEST.traceId)
    const queue = 'render.react_pdf.async'
    expect(treeOf(REQUEST.spanId)).toEqual({
      'POST /api/v1/render': {
        admission: {},
        [`send ${queue}`]: {
          queue: {},
          [`process ${queue}`]: {
            render: { evaluate: {}, layout: {}, print: {} },
            store: {},
            'send render.events': {},
            POST: {},
          },
        },
      },
    })
    // Two processes may have made the attempts, and may export them in another order.
    const [first, second] = spansOf(id)
      .filter(({ name }) => name === 'POST')
      .toSorted((one, other) => one.startMs - other.startMs)
    expect([first?.traceId, first?.isError, first?.attributes['error.type']]).toEqual([REQUEST.traceId, true, '503'])
    expect([second?.traceId === REQUEST.traceId, second?.parentSpanId, second?.isError]).toEqual([false, '', false])
    expect(second?.links).toEqual([{ traceId: REQUEST.traceId, spanId: first?.parentSpanId }])
    const sent = [first, second].map((span) => `00-${span?.traceId}-${span?.spanId}-01`)
    expect(receiver.received.map((received) => received.headers['traceparent'])).toEqual(sent)
    expect(receiver.received.map((received) => received.headers['tracestate'])).toEqual(['rojo=1', undefined])
    for (const { startMs, endMs } of spansOf(id)) expect(endMs).toBeGreaterThanOrEqual(startMs)
    expect(collector.bodies.map(({ bytes }) => bytes.toString()).join('')).not.toContain('a-secret-path')
    const steps = ['render queued', 'render started', 'render succeeded', 'webhook attempt failed', 'webhook delivered']
    const recordsOf = () => {
      const lines = service.log().split('\n')
      return lines.filter((line) => line.includes(id)).map((line) => JSON.parse(line))
    }
    // The delivery is logged when it is recorded, which may be after its span.
    const fields = await poll(recordsOf).until((all) => steps.every((step) => all.some(({ msg }) => msg === step)))
    for (const line of fields) expect(line).toMatchObject({ requestId: 'order 66', traceId: REQUEST.traceId })
  })

  test('has the reply of a sync render', async () => {
    const [traceId, spanId] = ['c'.repeat(32), 'd'.repeat(16)]
    const headers = { traceparent: `00-${traceId}-${spanId}-01` }
    const answer = await request(service, { key: ACME_LIVE, body: INVOICE, headers })
    expect(answer.status).toBe(200)
    await complete(traceId)
    expect(treeOf(spanId)).toMatchObject({
      'POST /api/v1/render': { 'send render.react_pdf.sync': { 'process render.react_pdf.sync': { reply: {} } } },
    })
  })

  test('is that of the caller only if it is valid, and is kept only if the caller keeps it', async () => {
    const unsampled = `00-${'e'.repeat(32)}-${'f'.repeat(16)}-00`
    for (const [at, sent] of [unsampled, traceparent.toUpperCase()].entries()) {
      const body = { ...INVOICE, mode: 'async', webhook_url: receiver.url }
      await request(service, { key: ACME_LIVE, body, headers: { traceparent: sent } })
      await receiver.until(at + 1)
    }
    const [kept, own] = receiver.received.map(({ headers }) => String(headers['traceparent']))
    expect(kept).toMatch(/^00-e{32}-(?!f{16})[0-9a-f]{16}-00$/)
    expect(own).toMatch(/^00-(?!a{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    await collector.until((spans) => spans.some(({ name, traceId }) => name === 'POST' && own?.includes(traceId)))
    expect(collector.spans.filter(({ traceId }) => traceId === 'e'.repeat(32))).toEqual([])
  })
})
