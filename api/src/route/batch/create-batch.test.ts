import { gzipSync } from 'node:zlib'
import { BATCH_ITEMS_MAX } from '@platen/contract/domain/limit.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { batchAddresses, batchIdOf, OPEN_BATCH_PREFIX } from '@platen/contract/stored/batch.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import {
  type Api,
  anApi,
  drain,
  end,
  FOREIGN_KEY,
  isQueueEmpty,
  keysUnder,
  LIVE_KEY,
  TEST_KEY,
} from '../../../../test/fixture/api.ts'
import { aTemplate, aTenant, NEVER, NOON } from '../../../../test/fixture/build.ts'
import { BATCH_BYTES_MAX, BATCH_FAULTS_MAX } from '../../body/limit.ts'

const SCHEMA = { type: 'object', required: ['n'], properties: { n: { type: 'integer', maximum: 5000 } } }
const TEMPLATES = [aTemplate({ variablesSchema: SCHEMA })]
const ACCOUNT = aTenant().account
const HEAD = { template: 'invoice' }
const itemsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ data: { n } }))

const api = (options: Parameters<typeof anApi>[0] = {}) => anApi({ templates: TEMPLATES, ...options })

const send = (
  to: Api,
  payload: string | Buffer,
  { key = LIVE_KEY, ...headers }: { readonly key?: string; readonly [name: string]: string } = {},
) =>
  to.call({
    method: 'POST',
    path: '/api/v1/batches',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    payload,
  })
const post = (one: Api, body: object, headers: Record<string, string> = {}) => send(one, JSON.stringify(body), headers)
const refusalOf = (answer: Awaited<ReturnType<typeof send>>) => {
  const { code, details = [] } = answer.json<{
    error: { code: string; details?: { path: string; message: string }[] }
  }>().error
  return { status: answer.statusCode, code, paths: details.map(({ path }) => path), details }
}
const reserved = async ({ ports }: Api) => (await ports.limiter.usage(ACCOUNT, '2026-11', NEVER)).reserved

describe('POST /batches', () => {
  test('answers 202 with the id, how many, and where to poll, and queues each item in the bulk lane', async () => {
    const one = api()
    const items = [
      { data: { n: 1 }, reference: 'a', metadata: { k: 'v' }, filename: 'a.pdf' },
      { data: { n: 2 }, reference: null },
    ]
    const body = {
      ...HEAD,
      webhook_url: 'https://example.com/x',
      reference: 'all',
      options: { page_size: 'A5' },
      items,
    }
    const answer = await post(one, body)
    const { batch_id: id } = answer.json<{ batch_id: string }>()
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      { batch_id: id, status: 'processing', total: 2, poll_url: `/api/v1/batches/${id}` },
    ])
    expect(answer.headers).toMatchObject({ location: `/api/v1/batches/${id}`, 'retry-after': '1' })
    const records = await drain(one)
    expect(records).toMatchObject([
      {
        data: { inline: { n: 1 } },
        reference: 'a',
        metadata: { k: 'v' },
        options: { page_size: 'A5', filename: 'a.pdf' },
      },
      { data: { inline: { n: 2 } }, options: { page_size: 'A5' } },
    ])
    for (const record of records) {
      expect(record).toMatchObject({ batch: id, mode: 'async', lane: 'bulk', acceptedAt: NOON })
      expect(record.webhookUrl).toBeUndefined()
      expect((await one.get(`/api/v1/render/${record.id}`)).json()).toMatchObject({ batch_id: id, status: 'queued' })
    }
    expect(records[1]?.reference).toBeUndefined()
    const listed = (await one.get(`/api/v1/renders?batch=${id}`)).json<{ renders: { render_id: string }[] }>().renders
    expect(listed.map(({ render_id }) => render_id)).toEqual(records.map(({ id }) => id).toReversed())
    expect(listed[0]).toMatchObject({ batch_id: id })
  })

  test('takes the same as lines, in gzip or not', async () => {
    const one = api()
    const lines = [HEAD, ...itemsOf(3)].map((line) => JSON.stringify(line)).join('\r\n')
    const ndjson = { 'content-type': 'application/x-ndjson' }
    expect((await send(one, `${lines}\n\n`, ndjson)).json()).toMatchObject({ total: 3 })
    expect((await send(one, gzipSync(lines), { ...ndjson, 'content-encoding': 'gzip' })).json()).toMatchObject({
      total: 3,
    })
    const records = await drain(one)
    expect(records.map(({ data }) => data)).toEqual([0, 1, 2, 0, 1, 2].map((n) => ({ inline: { n } })))
    expect(new Set(records.map(({ id }) => id)).size).toBe(6)
  })

  test('finds the items wherever they are in the body, whatever is in their texts', async () => {
    const one = api({ templates: [aTemplate()] })
    const text =
      '{ "reference" : "\\"items\\":[1]", "items" : [ {"data":{"a":"],[ \\" }","b":[[],{}]}} ,\n{"data":{}} ] , "template":"invoice" }'
    expect((await send(one, text)).json()).toMatchObject({ total: 2 })
    expect((await drain(one)).map(({ data }) => data)).toEqual([
      { inline: { a: '],[ " }', b: [[], {}] } },
      { inline: {} },
    ])
  })

  test('is one request to the rates, and holds the units of all renders', async () => {
    const one = api({ tenant: { limits: { asyncRateLimitPerMinute: 2, renderLimitMonthly: 10 } } })
    const answer = await post(one, { ...HEAD, items: itemsOf(6) })
    expect(answer.headers).toMatchObject({ 'x-ratelimit-remaining': '1', 'x-service-quota-remaining': '4' })
    const refused = refusalOf(await post(one, { ...HEAD, items: itemsOf(5) }))
    expect(refused).toMatchObject({ status: 402, code: 'PAYMENT_REQUIRED' })
    expect(await reserved(one)).toBe(6)
    for (const record of await drain(one)) await end(one, record, 'succeeded')
    expect(await one.ports.limiter.usage(ACCOUNT, '2026-11', NEVER)).toEqual({ charged: 6, reserved: 0 })
  })

  test('is free in the sandbox', async () => {
    const one = api({ tenant: { limits: { renderLimitMonthly: 0 } } })
    expect((await post(one, { ...HEAD, items: itemsOf(3) }, { key: TEST_KEY })).statusCode).toBe(202)
  })
})

describe('a batch is refused as a whole', () => {
  test('for the 700th item, before any cost', async () => {
    const one = api()
    const items = itemsOf(BATCH_ITEMS_MAX)
    items[699] = { data: { n: 5001 } }
    expect(refusalOf(await post(one, { ...HEAD, items }))).toMatchObject({
      status: 422,
      code: 'VALIDATION_FAILED',
      details: [{ path: '/items/699/data/n', message: 'must be <= 5000' }],
    })
    expect(await isQueueEmpty(one)).toBe(true)
    expect([await keysUnder(one, ''), await reserved(one)]).toEqual([[], 0])
  })

  test('with the faults of all items, a hundred at most, and those of their form before those of their data', async () => {
    const one = api()
    const wrong = Array.from({ length: 300 }, () => ({ data: { n: 'x' } }))
    const data = refusalOf(await post(one, { ...HEAD, items: [...itemsOf(2), ...wrong] }))
    expect(data).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' })
    expect(data.paths).toEqual(Array.from({ length: BATCH_FAULTS_MAX }, (_, at) => `/items/${at + 2}/data/n`))
    const form = [{ data: { n: 'x' } }, { data: [] }, {}, { data: {}, filename: '../a', x: 1 }, 'text', null]
    expect(refusalOf(await post(one, { ...HEAD, items: form }))).toMatchObject({
      status: 400,
      code: 'INVALID_PAYLOAD',
      paths: ['/items/1/data', '/items/2/data', '/items/3/x', '/items/3/filename', '/items/4', '/items/5'],
    })
    const lines = [
      JSON.stringify(HEAD),
      '{"data":{"n":1}}',
      '{"data":',
      '{"data":{"a":1,"a":2}}',
      '{"data":{"n":1e999}}',
    ]
    const answer = refusalOf(await send(one, lines.join('\n'), { 'content-type': 'application/x-ndjson' }))
    expect(answer.paths).toEqual(['/items/1', '/items/2/data/a', '/items/3/data/n'])
    expect([await keysUnder(one, ''), await reserved(one)]).toEqual([[], 0])
  })

  test.for<[string, string, number, string]>([
    ['no items', '{"template":"invoice"}', 400, '/items'],
    ['an empty list', '{"template":"invoice","items":[]}', 400, '/items'],
    ['too many items', JSON.stringify({ ...HEAD, items: itemsOf(BATCH_ITEMS_MAX + 1) }), 400, '/items'],
    ['items that are no list', '{"template":"invoice","items":{}}', 400, '/items'],
    ['items in disguise', '{"template":"invoice","item\\u0073":[{"data":{}}]}', 400, '/items'],
    ['items twice', '{"template":"invoice","items":[{"data":{}}],"items":[{"data":{}}]}', 400, '/items'],
    ['a comma too many', '{"template":"invoice","items":[{"data":{"n":1}},]}', 400, '/items/1'],
    ['a field that only renders have', '{"template":"invoice","mode":"async","items":[{"data":{}}]}', 400, '/mode'],
    [
      'a webhook of an item',
      '{"template":"invoice","items":[{"data":{},"webhook_url":"https://a.example"}]}',
      400,
      '/items/0/webhook_url',
    ],
    ['a list that does not end', '{"template":"invoice","items":[{"data":{}}', 400, ''],
    ['no object', '[]', 400, ''],
    ['an engine without a source', '{"template":"invoice","engine":"html","items":[{"data":{"n":1}}]}', 402, ''],
    ['a template that is not there', '{"template":"none","items":[{"data":{"n":1}}]}', 404, ''],
    [
      'a webhook that leads inside',
      '{"template":"invoice","webhook_url":"http://127.0.0.1/","items":[{"data":{"n":1}}]}',
      400,
      '/webhook_url',
    ],
  ])('for %s', async ([, payload, status, path]) => {
    const one = api()
    const refused = refusalOf(await send(one, payload))
    expect([refused.status, refused.paths[0] ?? '']).toEqual([status, path])
    expect([await keysUnder(one, ''), await reserved(one)]).toEqual([[], 0])
  })

  test('for its size, and for what it becomes', async () => {
    const one = api()
    const large = Buffer.alloc(BATCH_BYTES_MAX + 1, ' ')
    expect((await send(one, large)).statusCode).toBe(413)
    expect((await send(one, gzipSync(large), { 'content-encoding': 'gzip' })).statusCode).toBe(413)
    expect((await send(one, '{}', { 'content-type': 'text/plain' })).statusCode).toBe(415)
  })
})

describe('acceptance', () => {
  const BODY = { ...HEAD, items: itemsOf(3) }

  /** The next creation of an object has no answer, whatever the store has made of it. */
  function loseAnswer({ ports: { artifacts } }: Api, stored: (create: () => Promise<unknown>) => Promise<unknown>) {
    const create = artifacts.create.bind(artifacts)
    Object.assign(artifacts, {
      create: async (...given: Parameters<typeof create>) => {
        Object.assign(artifacts, { create })
        await stored(() => create(...given))
        throw new Unavailable('no answer')
      },
    })
  }

  test('is all or nothing: without its object, 503, and nothing is reserved or queued', async () => {
    const one = api()
    const { artifacts } = one.ports
    const create = artifacts.create.bind(artifacts)
    Object.assign(artifacts, { create: () => Promise.reject(new Unavailable('away')) })
    expect((await post(one, BODY)).statusCode).toBe(503)
    Object.assign(artifacts, { create })
    expect([await isQueueEmpty(one), await reserved(one)]).toEqual([true, 0])
  })

  test('is refused for good if nobody knows whether it was stored', async () => {
    const one = api()
    loseAnswer(one, async () => undefined)
    expect((await post(one, BODY)).statusCode).toBe(503)
    expect([await isQueueEmpty(one), await reserved(one)]).toEqual([true, 0])
    const [key = ''] = await keysUnder(one, 'batch/of/')
    const stored = await one.ports.artifacts.get({ bucket: 'platen', key }, NEVER)
    expect(JSON.parse(Buffer.from(stored ?? []).toString())).toMatchObject({ renders: [] })
  })

  test('holds if only the answer of the store was lost', async () => {
    const one = api()
    loseAnswer(one, (create) => create())
    expect((await post(one, BODY)).statusCode).toBe(202)
    expect(await drain(one)).toHaveLength(3)
  })

  test('holds although the queue is away, and leaves the items and a sign for those who go on', async () => {
    const one = api()
    Object.assign(one.ports.queue, { enqueue: () => Promise.reject(new Unavailable('away')) })
    const answer = await post(one, BODY)
    expect(answer.statusCode).toBe(202)
    const { batch_id: id } = answer.json<{ batch_id: RenderId }>()
    expect(await keysUnder(one, OPEN_BATCH_PREFIX)).toEqual([
      batchAddresses({ id: batchIdOf(id), account: '' }, '').open.key,
    ])
    expect(await keysUnder(one, 'acme/')).toEqual([`acme/${id}/input`])
    expect((await one.get(`/api/v1/batches/${id}`)).json()).toMatchObject({ status: 'processing', queued: 3 })
  })
})

describe('an Idempotency-Key', () => {
  const KEY = { 'idempotency-key': 'order-1' }
  const BODY = { ...HEAD, items: itemsOf(3) }

  test('makes one batch of a repeated request, and refuses another body', async () => {
    const one = api()
    const first = await post(one, BODY, KEY)
    const again = await post(one, { items: BODY.items, template: 'invoice' }, KEY)
    expect([again.statusCode, again.json(), again.headers['idempotent-replayed']]).toEqual([202, first.json(), 'true'])
    expect(await drain(one)).toHaveLength(3)
    expect(refusalOf(await post(one, { ...HEAD, items: itemsOf(4) }, KEY))).toMatchObject({
      status: 422,
      code: 'IDEMPOTENCY_MISMATCH',
    })
    expect(refusalOf(await one.post({ template: 'invoice', data: { n: 1 }, mode: 'async' }, KEY))).toMatchObject({
      code: 'IDEMPOTENCY_MISMATCH',
    })
    expect(await reserved(one)).toBe(3)
  })

  test('completes a request whose process died before it accepted, under its own id', async () => {
    const one = api()
    const { artifacts } = one.ports
    const put = artifacts.put.bind(artifacts)
    // It dies after the claim: nothing else is stored.
    Object.assign(artifacts, { put: () => Promise.reject(new Unavailable('dead')) })
    expect((await post(one, BODY, KEY)).statusCode).toBe(503)
    Object.assign(artifacts, { put })
    expect(refusalOf(await post(one, BODY, KEY))).toMatchObject({ status: 409, code: 'IDEMPOTENCY_IN_PROGRESS' })
    await one.clock.advance(60_000)
    const answer = await post(one, BODY, KEY)
    expect([answer.statusCode, answer.headers['idempotent-replayed']]).toEqual([202, 'true'])
    const { batch_id: id } = answer.json<{ batch_id: string }>()
    expect((await drain(one)).map(({ batch }) => batch)).toEqual([id, id, id])
  })
})

describe('GET /batches/:id', () => {
  test('counts the renders by their states', async () => {
    const one = api()
    const body = { ...HEAD, reference: 'r', metadata: { k: 'v' }, items: itemsOf(4) }
    const { batch_id: id } = (await post(one, body)).json<{ batch_id: string }>()
    const [first, second] = await drain(one)
    if (first) await one.ports.ledger.claim(first, { owner: 'a', leaseMs: 1000 }, NEVER)
    if (second) await one.ports.ledger.claim(second, { owner: 'a', leaseMs: 1000 }, NEVER)
    expect((await one.get(`/api/v1/batches/${id}`)).json()).toEqual({
      batch_id: id,
      template: 'invoice',
      reference: 'r',
      metadata: { k: 'v' },
      status: 'processing',
      total: 4,
      queued: 2,
      running: 2,
      succeeded: 0,
      failed: 0,
      created_at: '2026-11-21T12:00:00.000Z',
    })
  })

  test('knows no batch of another tenant or environment, no render as a batch, and no batch as a render', async () => {
    const one = api()
    const { batch_id: id } = (await post(one, { ...HEAD, items: itemsOf(1) })).json<{ batch_id: string }>()
    const [record] = await drain(one)
    const status = async (path: string, key = LIVE_KEY) =>
      (await one.get(path, { authorization: `Bearer ${key}` })).statusCode
    expect(await status(`/api/v1/batches/${id.toLowerCase()}`)).toBe(200)
    for (const key of [FOREIGN_KEY, TEST_KEY]) expect(await status(`/api/v1/batches/${id}`, key)).toBe(404)
    expect(await status(`/api/v1/batches/${record?.id}`)).toBe(404)
    expect(await status(`/api/v1/render/${id}`)).toBe(404)
    expect(await status(`/api/v1/renders?batch=${id}`)).toBe(200)
    expect(await status(`/api/v1/renders?batch=${id}`, FOREIGN_KEY)).toBe(400)
    expect(await status(`/api/v1/renders?batch=${record?.id}`)).toBe(400)
  })
})
