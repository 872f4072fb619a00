/** The client and the real service: every method, and the errors by their codes. */
import { randomBytes } from 'node:crypto'
import { EVENT_ID_RANDOM_BYTES, TEST_EVENT, testEventOf, webhookBodyOf } from '@platen/contract/domain/event.ts'
import type { Ended } from '@platen/contract/domain/render.ts'
import { signatureHeaders } from '@platen/events/webhook/sign.ts'
import { describe, expect, test } from 'vitest'
import { type Client, type ClientOptions, createClient, signTestEvent, verifyWebhook } from '../../client/src/index.ts'
import { toWire } from '../../client/src/spelling.ts'
import { errorOf } from '../fixture/api/client.ts'
import { aFailure, aManifest, anEvent, aRecord } from '../fixture/build.ts'
import { shared } from '../fixture/lifetime.ts'
import {
  ACME_LIVE,
  ACME_WEBHOOK_SECRET,
  invoice,
  METERED_LIVE,
  METERED_TEST,
  NARROW_LIVE,
} from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'

const service = shared(() => startEmbedded())

const aClient = (options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl: `${service().url()}/api/v1`, apiKey: ACME_LIVE, ...options })

describe('a caller', () => {
  test('renders a PDF at once', async () => {
    const input = { template: 'invoice', data: invoice(3), options: { filename: 'faktura-żółta.pdf' } }
    const { pdf, renderId, renderMs, filename, isReplayed } = await aClient().render(input)
    expect((await inspectPdf(pdf)).text).toContain('row-3-of-3.')
    expect(renderId).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
    expect(renderMs).toBeGreaterThan(0)
    expect(filename).toBe('faktura-żółta.pdf')
    expect(isReplayed).toBe(false)
  })

  test.for(['react_pdf', 'html'] as const)(
    'has a PDF rendered by %s, waits for it and downloads it',
    async (engine) => {
      const client = aClient()
      const { renderId, pollUrl } = await client.renderAsync({ template: 'invoice', data: invoice(2), engine })
      expect(pollUrl).toBe(`/api/v1/render/${renderId}`)
      const record = await client.waitForRender(renderId)
      expect(record).toMatchObject({ renderId, template: 'invoice', status: 'succeeded' })
      expect(await client.getRender(renderId)).toMatchObject({ renderId, status: 'succeeded' })
      const pdf = await client.downloadPdf(record)
      expect(pdf.byteLength).toBe(record.pdfSizeBytes)
      expect((await inspectPdf(pdf)).text).toContain('row-2-of-2.')
      expect(await client.getPdf(renderId)).toEqual(pdf)
    },
  )

  test('cancels a render that has not ended, and removes one that has, also twice', async () => {
    const client = aClient()
    const { renderId: running } = await client.renderAsync({ template: 'busy', data: { rounds: 1e15 } })
    const canceled = await client.deleteRender(running)
    expect(canceled).toMatchObject({ renderId: running, status: 'failed', error: { code: 'canceled' } })
    expect(await client.deleteRender(running)).toEqual(canceled)
    const { renderId } = await client.render({ template: 'invoice', data: invoice(1) })
    for (let times = 0; times < 2; times++) expect(await client.deleteRender(renderId)).toBeUndefined()
    expect((await errorOf(client.getRender(renderId))).code).toBe('RENDER_EXPIRED')
    expect((await errorOf(client.deleteRender('none'))).code).toBe('RENDER_NOT_FOUND')
  })

  test('finds the renders of a reference, page by page', async () => {
    const client = aClient()
    const labels = { reference: 'order 7/é', metadata: { customer: 'c-17' } }
    const since = new Date()
    const ids = []
    for (let i = 0; i < 3; i++) {
      const { renderId } = await client.renderAsync({ template: 'invoice', data: invoice(1), ...labels })
      ids.unshift(renderId)
      expect(await client.waitForRender(renderId)).toMatchObject(labels)
    }
    const filters = { reference: labels.reference, createdAfter: since, engine: 'react_pdf' } as const
    const { renders, nextCursor } = await client.listRenders({ ...filters, limit: 2 })
    expect(renders.map(({ renderId }) => renderId)).toEqual(ids.slice(0, 2))
    expect(renders[0]).toMatchObject({ ...labels, template: 'invoice', status: 'succeeded' })
    const rest = await client.listRenders({ ...filters, limit: 2, ...(nextCursor && { cursor: nextCursor }) })
    expect([rest.renders[0]?.renderId, rest.nextCursor]).toEqual([ids[2], undefined])
    const all = await Array.fromAsync(client.allRenders({ ...filters, limit: 1 }), ({ renderId }) => renderId)
    expect(all).toEqual(ids)
    expect(await Array.fromAsync(client.allRenders({ ...filters, createdBefore: since }))).toEqual([])
    expect((await errorOf(client.listRenders({ cursor: 'x' }))).code).toBe('INVALID_PAYLOAD')
  })

  test('has a PDF rendered, waited for and downloaded by one call', async () => {
    const call = { idempotencyKey: 'awaited-1' }
    const first = await aClient().renderAndWait({ template: 'invoice', data: invoice(2) }, call)
    expect((await inspectPdf(first.pdf)).text).toContain('row-2-of-2.')
    expect(first).toMatchObject({ isReplayed: false, record: { renderId: first.renderId, status: 'succeeded' } })
    const again = await aClient().renderAndWait({ template: 'invoice', data: invoice(2) }, call)
    expect(again).toMatchObject({ isReplayed: true, renderId: first.renderId, pdf: first.pdf })
    expect(await errorOf(aClient().renderAndWait({ template: 'broken', data: {} }))).toMatchObject({
      code: 'template_error',
      renderId: expect.any(String),
    })
  })

  test('is told with each render what is left of its quota and its rate', async () => {
    const client = aClient({ apiKey: METERED_TEST })
    const answers = [
      await client.render({ template: 'invoice', data: invoice(1) }),
      await client.renderAsync({ template: 'invoice', data: invoice(1) }),
    ]
    for (const { quota, rate } of answers) {
      expect(quota).toBeUndefined()
      expect(rate).toEqual({ limit: expect.any(Number), remaining: expect.any(Number), resetsAt: expect.any(String) })
      expect(Date.parse(rate?.resetsAt ?? '')).toBeGreaterThan(Date.now() - 60_000)
    }
  })

  test('has many PDFs rendered at once, and counts and finds them', async () => {
    const client = aClient()
    const items = [1, 2, 3].map((rows) => ({
      data: invoice(rows),
      reference: `item_${rows}`,
      metadata: { row_s: `${rows}` },
    }))
    const labels = { reference: 'run_7', metadata: { run_id: '7' } }
    const call = { idempotencyKey: 'run-7' }
    const { batchId, ...accepted } = await client.createBatch({ template: 'invoice', items, ...labels }, call)
    expect(accepted).toMatchObject({ total: 3, pollUrl: `/api/v1/batches/${batchId}`, isReplayed: false })
    const again = await client.createBatch({ template: 'invoice', items, ...labels }, call)
    expect(again).toMatchObject({ batchId, isReplayed: true })
    const ended = await client.waitForBatch(batchId)
    expect(ended).toMatchObject({ batchId, template: 'invoice', status: 'ended', total: 3, succeeded: 3, ...labels })
    expect(await client.getBatch(batchId)).toEqual(ended)
    const renders = await Array.fromAsync(client.allRenders({ batch: batchId, limit: 2 }))
    expect(renders.toReversed().map(({ reference, metadata }) => ({ reference, metadata }))).toEqual(
      items.map(({ reference, metadata }) => ({ reference, metadata })),
    )
    for (const { renderId } of renders) expect(await client.waitForRender(renderId)).toMatchObject({ batchId })
    expect((await inspectPdf(await client.getPdf(renders[0]?.renderId ?? ''))).text).toContain('row-3-of-3.')
  })

  test('is told which items of a batch are at fault, and of a batch that is none', async () => {
    const items = [{ data: invoice(1) }, { data: { number: 7, rows: [] } }]
    const error = await errorOf(aClient().createBatch({ template: 'invoice', items }))
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', details: [{ in: 'body', path: '/items/1/data/number' }] })
    expect((await errorOf(aClient().getBatch('none'))).code).toBe('BATCH_NOT_FOUND')
  })

  test('asks twice under one key and gets one render', async () => {
    const input = { template: 'invoice', data: invoice(1) }
    const first = await aClient().render(input, { idempotencyKey: 'order-1' })
    const second = await aClient().render(input, { idempotencyKey: 'order-1' })
    expect([second.renderId, second.isReplayed]).toEqual([first.renderId, true])
    const other = aClient().render({ ...input, data: invoice(2) }, { idempotencyKey: 'order-1' })
    expect((await errorOf(other)).code).toBe('IDEMPOTENCY_MISMATCH')
  })

  test('reads what it has used and what is left', async () => {
    const { rates, ...usage } = await aClient({ apiKey: METERED_LIVE }).getUsage()
    expect(usage).toMatchObject({ limit: 8, remaining: 8, used: 0, reserved: 0, templates: [], days: [] })
    expect(rates.map(({ renders, per }) => `${renders} ${per}`)).toContain('sync key')
  })

  test('lists templates by the page and all of them', async () => {
    const client = aClient()
    const page = await client.listTemplates({ perPage: 3 })
    expect(page).toMatchObject({ total: 4, nextPage: 2 })
    expect(page.templates.map(({ code }) => code)).toEqual(['broken', 'busy', 'invoice'])
    expect((await client.listTemplates({ page: 2, perPage: 3 })).nextPage).toBeUndefined()
    const all = await Array.fromAsync(client.allTemplates({ perPage: 1 }), ({ code }) => code)
    expect(all).toEqual(['broken', 'busy', 'invoice', 'page-only'])
  })
})

describe('an error', () => {
  test.for<[string, Partial<ClientOptions>, object, object]>([
    ['a wrong key', { apiKey: `service_live_${'z'.repeat(43)}` }, {}, { status: 401, code: 'UNAUTHORIZED' }],
    ['an unknown template', {}, { template: 'none' }, { status: 404, code: 'TEMPLATE_NOT_FOUND' }],
    ['an unknown field', {}, { colour: 'red' }, { status: 400, code: 'INVALID_PAYLOAD' }],
    [
      'a quota',
      { apiKey: METERED_LIVE },
      { engine: 'html', data: invoice(1) },
      { status: 402, code: 'PAYMENT_REQUIRED' },
    ],
  ])('says its code: %s', async ([, options, fields, expected]) => {
    const client = aClient(options)
    // What the quota has room for, once.
    if (options.apiKey === METERED_LIVE) {
      const { quota } = await client.render({ template: 'invoice', data: invoice(1), engine: 'html' })
      expect(quota).toEqual({ limit: 8, remaining: 3 })
    }
    const error = await errorOf(client.render({ template: 'invoice', data: invoice(1), ...fields }))
    expect(error).toMatchObject(expected)
    expect(error.requestId).toMatch(/^[\x21-\x7e]+$/)
  })

  test('names the fields that are at fault', async () => {
    const error = await errorOf(aClient().render({ template: 'invoice', data: { number: 7, rows: [] } }))
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', status: 422 })
    const message = expect.stringContaining('string')
    expect(error.details).toEqual([{ in: 'body', path: '/data/number', message }])
  })

  test('names the query parameter that is at fault', async () => {
    const error = await errorOf(aClient().listTemplates({ perPage: 101 }))
    expect(error).toMatchObject({ code: 'INVALID_PAYLOAD', status: 400 })
    expect(error.details).toEqual([{ in: 'query', path: 'per_page', message: 'must be <= 100' }])
  })

  test('says when the next render is admitted', async () => {
    const client = aClient({ apiKey: NARROW_LIVE, retries: 0 })
    const input = { template: 'invoice', data: invoice(1) }
    for (let renders = 0; renders < 3; renders++) await client.render(input)
    const error = await errorOf(client.render(input))
    expect(error).toMatchObject({ code: 'RATE_LIMITED', status: 429 })
    expect(error.retryAfterSeconds).toBeGreaterThan(0)
    // A minute, and the second in which the oldest render is counted.
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(61)
  })

  test('of a render that fails has its code and its id, in both modes', async () => {
    const client = aClient()
    const sync = await errorOf(client.render({ template: 'broken', data: {} }))
    expect(sync).toMatchObject({ code: 'INTERNAL_ERROR', message: expect.stringMatching(/^template_error: /) })
    expect((await errorOf(client.waitForRender(sync.renderId ?? ''))).code).toBe('template_error')
    const { renderId } = await client.renderAsync({ template: 'broken', data: {} })
    expect(await errorOf(client.waitForRender(renderId))).toMatchObject({ code: 'template_error', renderId })
  })

  test('is the reason of the signal that ended the call, also between two attempts', async () => {
    const reason = new Error('the user has left')
    const controller = new AbortController()
    const call = aClient().render({ template: 'busy', data: { rounds: 1e15 } }, { signal: controller.signal })
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)

    const waiting = new AbortController()
    const failing: typeof fetch = async () => {
      setImmediate(() => waiting.abort(reason))
      throw new TypeError('fetch failed')
    }
    await expect(aClient({ fetch: failing }).getRender('x', { signal: waiting.signal })).rejects.toBe(reason)
  })
})

/** Renderers of this version count the pages. */
function ofTwoPages(manifest: Ended): Ended {
  const { outcome } = manifest
  return outcome.status === 'succeeded' ? { ...manifest, outcome: { ...outcome, pages: 2 } } : manifest
}

describe('what the service sends to receivers', () => {
  const labels = { reference: 'order_7', metadata: { customer_id: 'c-17', customerName: 'Żółć' } }
  const events = [
    ['a render that succeeded', anEvent(ofTwoPages(aManifest()))],
    ['a render that failed', anEvent(aManifest({ outcome: aFailure() }))],
    ['a render with labels', anEvent(ofTwoPages(aManifest({ record: aRecord(labels) })))],
  ] as const
  const secrets = { oldest: 'previous', all: ['secret', 'previous'] }
  const sentFor = (event: ReturnType<typeof anEvent>) => {
    const body = webhookBodyOf(event)
    const timestampS = Math.floor(Date.now() / 1000)
    return { body, headers: signatureHeaders({ ...event, body, timestampS, secrets, brand: 'service' }) }
  }

  const sentAs = (headers: Readonly<Record<string, string>>) => {
    const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
    return { 'content-type': 'application/json', ...Object.fromEntries(named) }
  }

  test.for(events)('is what the client reads: %s', async ([, event]) => {
    const { body, headers } = sentFor(event)
    for (const secret of secrets.all) {
      const read = await verifyWebhook(body, headers, secret)
      expect(read).toMatchObject({ type: event.type, deliveryId: event.id, renderId: event.manifest.render.id })
      expect(toWire(read.data)).toEqual(JSON.parse(body))
    }
  })

  test('is what the client reads and signs: an event that tests a receiver', async () => {
    const now = Date.now()
    const { id, body } = testEventOf(now, randomBytes(EVENT_ID_RANDOM_BYTES))
    const timestampS = Math.floor(now / 1000)
    const headers = signatureHeaders({ id, type: TEST_EVENT, body, timestampS, secrets, brand: 'service' })
    const read = await verifyWebhook(body, headers, 'secret')
    expect(read).toMatchObject({ type: TEST_EVENT, deliveryId: id })
    expect(await signTestEvent({ secret: secrets.all, event: read })).toEqual({ body, headers: sentAs(headers) })
  })

  test.for(events)('is what the client signs for tests, to the byte: %s', async ([, event]) => {
    const { body, headers } = sentFor(event)
    const read = await verifyWebhook(body, headers, 'secret')
    const signed = await signTestEvent({ secret: secrets.all, event: read })
    expect(signed.body).toBe(body)
    expect(signed.headers).toEqual(sentAs(headers))
  })
})

describe('deliveries', () => {
  const open = shared(() => startEmbedded({ PLATEN_CHROMIUM: 'none', ...LOOPBACK_ALLOWED }))
  const client = () => aClient({ baseUrl: open().url() })

  test('of a render are listed, and attempted once more', async () => {
    await using receiver = await aReceiver()
    const url = `${receiver.url}/hook`
    const { renderId } = await client().renderAsync({ template: 'invoice', data: invoice(1), webhookUrl: url })
    await client().waitForRender(renderId)
    await receiver.until(1)
    const [delivery] = await client().listDeliveries(renderId)
    expect(delivery).toMatchObject({ event: 'render.succeeded', url })
    const id = delivery?.id ?? ''
    expect((await client().redeliver(id)).id).toBe(id)
    await receiver.until(2)
    expect(receiver.received.map(({ headers }) => headers['x-service-delivery'])).toEqual([id, id])
    expect(await client().getDelivery(id)).toMatchObject({ id, renderId, event: 'render.succeeded', url })
    expect((await errorOf(client().getDelivery('none'))).code).toBe('DELIVERY_NOT_FOUND')
  })

  test('of all renders are found, page by page', async () => {
    await using receiver = await aReceiver()
    const reference = 'delivered 7/é'
    const input = { template: 'invoice', data: invoice(1), reference, webhookUrl: receiver.url }
    const since = new Date()
    const ids = []
    for (let i = 0; i < 3; i++) {
      const { renderId } = await client().render(input)
      ids.unshift(renderId)
    }
    await receiver.until(3)
    const filters = { reference, template: 'invoice', createdAfter: since }
    const listed = () => Array.fromAsync(client().allDeliveries({ ...filters, status: 'delivered', limit: 1 }))
    const all = await poll(listed).until((found) => found.length === 3)
    expect(all.map(({ renderId }) => renderId)).toEqual(ids)
    expect(all[0]).toMatchObject({ event: 'render.succeeded', reference, lastAttempt: { statusCode: 204 } })
    const { deliveries, nextCursor } = await client().listAllDeliveries({ ...filters, limit: 2 })
    expect(deliveries).toEqual(all.slice(0, 2))
    const rest = await client().listAllDeliveries({ ...filters, limit: 2, ...(nextCursor && { cursor: nextCursor }) })
    expect([rest.deliveries, rest.nextCursor]).toEqual([all.slice(2), undefined])
    expect(await Array.fromAsync(client().allDeliveries({ ...filters, createdBefore: since }))).toEqual([])
    expect(await Array.fromAsync(client().allDeliveries({ ...filters, status: 'exhausted' }))).toEqual([])
  })

  test('of a batch tell of its end, in the words with which the client signs', async () => {
    await using receiver = await aReceiver()
    const items = [{ data: invoice(1) }, { data: invoice(2) }]
    const labels = { reference: 'run_8', metadata: { run_id: '8' } }
    const input = { template: 'invoice', webhookUrl: receiver.url, items, ...labels }
    const { batchId } = await client().createBatch(input)
    await receiver.until(1)
    const { queued: _queued, running: _running, deliveryId, ...ended } = await client().waitForBatch(batchId)
    const [{ body, headers } = { body: '', headers: {} }] = receiver.received
    const event = await verifyWebhook(body, headers, ACME_WEBHOOK_SECRET)
    expect(event).toMatchObject({ type: 'batch.ended', batchId })
    expect(event.data).toEqual(ended)
    const signed = await signTestEvent({ secret: ACME_WEBHOOK_SECRET, event })
    expect(signed.body).toBe(body)
    expect(headers).toMatchObject(signed.headers)
    expect(event.deliveryId).toBe(deliveryId)
    expect(await client().getDelivery(event.deliveryId)).toMatchObject({ event: 'batch.ended', batchId })
  })

  test('of a test event come to the receiver, and are told with its answer', async () => {
    await using receiver = await aReceiver()
    receiver.answer((_request, response) => response.writeHead(401).end('who are you?'))
    const tested = await client().testWebhook(receiver.url)
    const attempt = { result: 'status', statusCode: 401, responseExcerpt: 'who are you?' }
    expect(tested).toMatchObject({ event: 'webhook.test', url: receiver.url, status: 'exhausted', attempts: [attempt] })
    expect(await client().getDelivery(tested.id)).toEqual(tested)
    const events = receiver.received.map(({ body, headers }) => verifyWebhook(body, headers, ACME_WEBHOOK_SECRET))
    expect(events.length).toBe(1)
    expect(await events[0]).toMatchObject({
      type: 'webhook.test',
      deliveryId: tested.id,
      data: { createdAt: tested.createdAt },
    })
    expect((await errorOf(client().testWebhook('ftp://a.example'))).code).toBe('INVALID_PAYLOAD')
  })
})
