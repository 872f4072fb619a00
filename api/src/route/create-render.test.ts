import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { INLINE_DATA_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import {
  decodeManifest,
  encodeManifest,
  type Manifest,
  manifestKey,
  type Outcome,
  pdfKey,
  type RenderRecord,
} from '@platen/contract/domain/render.ts'
import { verifyRenderId } from '@platen/contract/domain/render-id.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import type { RenderQueue } from '@platen/contract/port/render-queue.ts'
import type { Reply } from '@platen/contract/port/reply-channel.ts'
import { decodeExpiry } from '@platen/contract/stored/expiry.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { type Api, anApi, isQueueEmpty, LIVE_KEY, queued, TEST_KEY } from '../../../test/fixture/api.ts'
import { aManifest, aReply, aTemplate, aTenant, NEVER, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { SYNC_REPLY_MARGIN_MS, SYNC_START_MS_MAX } from '../admission/limit.ts'

const ASYNC = { template: 'invoice', data: {}, mode: 'async' }
const SYNC = { template: 'invoice', data: {} }
const PDF = Buffer.from('%PDF-1.7 …')

async function manifestIn({ ports }: Api, record: RenderRecord): Promise<Manifest | undefined> {
  const bytes = await ports.artifacts.get({ bucket: 'platen', key: manifestKey(record.id) }, NEVER)
  return bytes && decodeManifest(bytes)
}

describe('POST /render in async mode', () => {
  test('answers 202 with the id, where to poll, and when', async () => {
    const api = anApi()
    const answer = await api.post(ASYNC)
    const record = await queued(api, 'async')
    expect(answer.statusCode).toBe(202)
    expect(answer.json()).toEqual({ render_id: record.id, status: 'queued', poll_url: `/api/v1/render/${record.id}` })
    expect(answer.headers).toMatchObject({ location: `/api/v1/render/${record.id}`, 'retry-after': '1' })
  })

  test('queues a record that holds everything the render needs', async () => {
    const api = anApi()
    const template = aTemplate()
    const options = { page_size: 'A5', margin: { top: '12mm' }, filename: 'a.pdf' }
    const webhook = 'https://example.com/hooks?a=b'
    const data = { number: 1 }
    await api.post({ ...ASYNC, data, options, webhook_url: webhook }, { 'x-request-id': 'order 66' })
    const record = await queued(api, 'async')
    expect(record).toEqual({
      id: verifyRenderId(record.id, { account: aTenant().account, environment: 'live' }, api.ports.keys()),
      tenant: 'acme',
      account: aTenant().account,
      environment: 'live',
      mode: 'async',
      lane: 'async',
      engine: 'react_pdf',
      template: { code: template.code, version: template.version, digest: template.digest },
      data: { inline: data },
      options,
      deadlineMs: 25_000,
      javascriptEnabled: false,
      storage: { bucket: 'platen', prefix: 'acme/' },
      webhookUrl: webhook,
      requestId: 'order 66',
      acceptedAt: NOON,
      units: 1,
      period: '2026-11',
      retentionDays: 30,
    })
  })

  test.for<[boolean, true | undefined, object, object]>([
    [false, undefined, {}, { options: {} }],
    [true, undefined, { strict: false }, { strict: true, options: { strict: false } }],
    [false, true, {}, { strict: true, options: {} }],
    [false, undefined, { strict: true }, { options: { strict: true } }],
  ])('is strict if the plan (%j), the template (%j) or the request is: %j', async ([plan, own, options, expected]) => {
    const template = { ...aTemplate(), ...(own && { strict: own }) }
    const api = anApi({ tenant: { limits: { strict: plan } }, templates: [template] })
    expect((await api.post({ ...ASYNC, options })).statusCode).toBe(202)
    const { strict, options: kept } = await queued(api, 'async')
    expect({ ...(strict !== undefined && { strict }), options: kept }).toEqual(expected)
  })

  test('carries the trace of the request, and says it in every line about it', async () => {
    const api = anApi()
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'rojo=1' }
    await api.post(ASYNC, { ...trace, 'x-request-id': 'order 66' })
    expect((await queued(api, 'async')).trace).toEqual(trace)
    expect(api.lines.map(({ message }) => message)).toEqual(['render queued', 'request answered'])
    for (const { fields } of api.lines) expect(fields).toMatchObject({ requestId: 'order 66', traceId: 'a'.repeat(32) })
  })

  test.for(['00-XX', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, '-'.repeat(8000)])(
    'is accepted as of no trace with the traceparent %s',
    async (traceparent) => {
      const api = anApi()
      expect((await api.post(ASYNC, { traceparent, tracestate: 'rojo=1' })).statusCode).toBe(202)
      expect(await queued(api, 'async')).not.toHaveProperty('trace')
    },
  )

  test('shows the render as queued at once', async () => {
    const api = anApi()
    const { render_id: id } = (await api.post(ASYNC)).json()
    expect((await api.get(`/api/v1/render/${id}`)).json()).toMatchObject({ status: 'queued', template: 'invoice' })
  })

  test.for([
    [{ async: true }, 'async'],
    [{ async: false }, 'sync'],
    [{ mode: 'async', async: true }, 'async'],
    [{ mode: 'sync', async: false }, 'sync'],
    [{}, 'sync'],
  ] as const)('takes %o for %s', async ([fields, lane]) => {
    const api = anApi()
    const answer = api.post({ ...SYNC, ...fields })
    const { id, mode } = await queued(api, lane)
    expect(mode).toBe(lane)
    await api.ports.replies.reply(id, aReply(PDF), NEVER)
    await answer
  })

  test('counts a sandbox render nothing, and keeps it apart by its environment', async () => {
    const api = anApi({ tenant: { limits: { htmlEngineEnabled: true } } })
    await api.post(ASYNC, { authorization: `Bearer ${TEST_KEY}` })
    expect(await queued(api, 'async')).toMatchObject({ environment: 'test', units: 0 })
  })

  test('counts an html render as many units as the plan says', async () => {
    const api = anApi({
      tenant: { limits: { htmlEngineEnabled: true, htmlEngineRenderMultiplier: 25 } },
      templates: [aTemplate({ engine: 'html', engines: ['html'] })],
    })
    await api.post(ASYNC)
    expect(await queued(api, 'async', 'html')).toMatchObject({ units: 25, engine: 'html' })
  })

  test('keeps data over the inline limit beside the record', async () => {
    const api = anApi()
    const quotes = '{"text":""}'.length
    const data = (bytes: number) => ({ text: 'x'.repeat(bytes - quotes) })
    await api.post({ ...ASYNC, data: data(INLINE_DATA_BYTES_MAX) })
    expect((await queued(api, 'async')).data).toEqual({ text: JSON.stringify(data(INLINE_DATA_BYTES_MAX)) })

    const other = anApi()
    await other.post({ ...ASYNC, data: data(INLINE_DATA_BYTES_MAX + 1) })
    const record = await queued(other, 'async')
    const address = { bucket: 'platen', key: `acme/${record.id}/input` }
    expect(record.data).toEqual({ stored: address })
    const stored = await other.ports.artifacts.get(address, NEVER)
    expect(JSON.parse(Buffer.from(stored ?? '').toString())).toEqual(data(INLINE_DATA_BYTES_MAX + 1))
  })

  test('accepts although the ledger is away', async () => {
    const clock = manualClock(NOON)
    const ledger = {
      ...memoryRenderLedger(clock),
      markQueued: () => Promise.reject(new Unavailable('connection refused')),
    }
    const api = anApi({ ports: { ledger } })
    expect((await api.post(ASYNC)).statusCode).toBe(202)
    // The watcher of the store logs once. A line for each request would add nothing.
    expect(api.lines).toContainEqual(
      expect.objectContaining({ level: 'debug', message: 'render not marked as queued' }),
    )
  })

  test('refuses with 503 when the queue fails, and abandons the render that may be in it', async () => {
    const queue = memoryRenderQueue()
    const forgetful: RenderQueue = {
      consume: (engine, signal) => queue.consume(engine, signal),
      enqueue: async (record, signal) => {
        await queue.enqueue(record, signal)
        throw new Unavailable('the answer was lost')
      },
    }
    const api = anApi({ ports: { queue: forgetful } })
    const answer = await api.post(ASYNC)
    expect(answer.statusCode).toBe(503)
    expect(answer.json().error.code).toBe('RENDER_UNAVAILABLE')
    expect(answer.headers['retry-after']).toBe('2')
    const record = await queued(api, 'async')
    expect(await manifestIn(api, record)).toMatchObject({
      kind: 'abandoned',
      outcome: { status: 'failed', error: { code: 'canceled' } },
    })
    const claim = await api.ports.ledger.claim(record, { owner: 'renderer', leaseMs: 1 }, NEVER)
    expect(claim).toEqual({ kind: 'settled' })
    // No event follows, so only this record says when to remove it: as if it had waited in the queue for the longest time.
    const [entry] = await Array.fromAsync(api.ports.artifacts.list('platen', 'expiry/2026-12-22/', NEVER))
    expect(decodeExpiry((entry && (await api.ports.artifacts.get(entry, NEVER))) ?? Buffer.from('[]'))).toEqual([
      { id: record.id, storage: record.storage, account: record.account },
    ])
  })

  test('abandons a render also where its expiry cannot be written down', async () => {
    const away = () => Promise.reject(new Unavailable('connection refused'))
    const queue = { ...memoryRenderQueue(), enqueue: away }
    const api = anApi({ ports: { queue, artifacts: { ...memoryArtifactStore(), put: away } } })
    expect((await api.post(ASYNC)).statusCode).toBe(503)
    const manifests = await Array.fromAsync(api.ports.artifacts.list('platen', 'manifest/', NEVER))
    expect(manifests).toHaveLength(1)
    expect(api.lines).toContainEqual(expect.objectContaining({ level: 'warn', message: 'expiry not recorded' }))
  })

  test('refuses with 503 when neither queue nor store answers', async () => {
    const away = () => Promise.reject(new Unavailable('connection refused'))
    const queue = { ...memoryRenderQueue(), enqueue: away }
    const api = anApi({ ports: { queue, artifacts: { ...memoryArtifactStore(), create: away } } })
    expect((await api.post(ASYNC)).statusCode).toBe(503)
    expect(api.lines).toContainEqual(expect.objectContaining({ level: 'error', message: 'render not abandoned' }))
  })

  test('refuses with 503 when large data cannot be stored, and queues nothing', async () => {
    const put = () => Promise.reject(new Unavailable('connection refused'))
    const api = anApi({ ports: { artifacts: { ...memoryArtifactStore(), put } } })
    const answer = await api.post({ ...ASYNC, data: { text: 'x'.repeat(INLINE_DATA_BYTES_MAX) } })
    expect(answer.json().error.code).toBe('RENDER_UNAVAILABLE')
    expect(await isQueueEmpty(api)).toBe(true)
  })
})

describe('POST /render in sync mode', () => {
  /** Sends a request and renders it as `reply` says. */
  async function rendered(api: Api, body: object, reply: Reply) {
    const answer = api.post(body)
    const { id } = await queued(api, 'sync')
    api.ports.replies.notifyStarted(id)
    await api.ports.replies.reply(id, reply, NEVER)
    return { id, answer: await answer }
  }

  test('answers a PDF that came in pieces as one document, under the digest that came with it', async () => {
    const pdf = [PDF, Buffer.from('the rest')]
    const sha256 = 'd1'.repeat(32)
    const { answer } = await rendered(anApi(), SYNC, aReply(PDF, { pdf, sha256 }))
    expect(answer.rawPayload).toEqual(Buffer.concat(pdf))
    expect(answer.headers).toMatchObject({ 'content-length': `${Buffer.concat(pdf).length}`, etag: `"${sha256}"` })
  })

  test('answers the PDF, with its facts in headers', async () => {
    const { id, answer } = await rendered(anApi(), SYNC, aReply(PDF, { durationMs: 123.4, pages: 3 }))
    expect(answer.statusCode).toBe(200)
    expect(answer.rawPayload).toEqual(PDF)
    const name = `invoice-${id}.pdf`
    expect(answer.headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': `${PDF.length}`,
      'content-disposition': `inline; filename="${name}"; filename*=UTF-8''${name}`,
      'x-service-render-id': id,
      'x-service-render-ms': '123',
      'x-service-pages': '3',
      'x-service-warnings': '0',
      etag: `"${createHash('sha256').update(PDF).digest('hex')}"`,
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
    })
  })

  test('offers the file name asked for', async () => {
    const body = { ...SYNC, options: { filename: 'Zażółć.pdf' } }
    const { answer } = await rendered(anApi(), body, aReply(PDF))
    expect(answer.headers['content-disposition']).toContain(`filename*=UTF-8''Za%C5%BC%C3%B3%C5%82%C4%87.pdf`)
  })

  test('knows a request again that is sent as gzip the second time', async () => {
    const api = anApi()
    const headers = { 'idempotency-key': 'one' }
    const first = await api.post(ASYNC, headers)
    const second = await api.call({
      method: 'POST',
      path: '/api/v1/render',
      headers: {
        ...headers,
        authorization: `Bearer ${LIVE_KEY}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      payload: gzipSync(JSON.stringify(ASYNC)),
    })
    expect([second.statusCode, second.json().render_id]).toEqual([202, first.json().render_id])
  })

  test('spells its headers and keys with the brand', async () => {
    const key = `acmepdf_live_${'a'.repeat(40)}`
    const hash = createHash('sha256').update(key).digest('hex') as KeyHash
    const tenant = { limits: { renderLimitMonthly: 9 } }
    const api = anApi({ settings: { brand: 'acmepdf' }, key: { hash }, tenant })
    const answer = api.post(SYNC, { authorization: `Bearer ${key}` })
    const { id } = await queued(api, 'sync')
    await api.ports.replies.reply(id, aReply(PDF), NEVER)
    const { headers } = await answer
    expect([headers['x-acmepdf-render-id'], headers['x-acmepdf-quota-limit']]).toEqual([id, '9'])
    expect((await api.post(ASYNC)).statusCode).toBe(401)
  })

  test('answers 500 with the failure code first when the render fails', async () => {
    const error = { code: 'render_timeout', message: 'the render did not end within 25 seconds' } as const
    const { id, answer } = await rendered(anApi(), SYNC, { kind: 'failed', error, durationMs: 25_000 })
    expect(answer.statusCode).toBe(500)
    expect(answer.headers['x-service-render-id']).toBe(id)
    expect(answer.json().error).toMatchObject({ code: 'INTERNAL_ERROR', message: `render_timeout: ${error.message}` })
  })

  test('answers 503 when no renderer begins in time, and abandons the render', async () => {
    const api = anApi()
    const answer = api.post(SYNC)
    const record = await queued(api, 'sync')
    await api.clock.advance(SYNC_START_MS_MAX)
    expect((await answer).json().error.code).toBe('RENDER_UNAVAILABLE')
    expect((await answer).headers['retry-after']).toBe('2')
    expect(await manifestIn(api, record)).toMatchObject({ kind: 'abandoned', outcome: { error: { code: 'canceled' } } })
    expect(api.ports.replies.callerGone(record.id, NEVER).aborted).toBe(true)
  })

  test('waits for a renderer that has begun as long as the render may take', async () => {
    const api = anApi()
    const answer = api.post(SYNC)
    const { id, deadlineMs } = await queued(api, 'sync')
    api.ports.replies.notifyStarted(id)
    await api.clock.advance(deadlineMs + SYNC_REPLY_MARGIN_MS - 1)
    await api.ports.replies.reply(id, aReply(PDF), NEVER)
    expect((await answer).statusCode).toBe(200)
  })

  /** A render that a renderer starts and, for the caller, never answers. */
  async function lost(settle: (record: RenderRecord, api: Api) => Promise<void>) {
    const api = anApi()
    const answer = api.post(SYNC)
    const record = await queued(api, 'sync')
    api.ports.replies.notifyStarted(record.id)
    await settle(record, api)
    await api.clock.advance(SYNC_START_MS_MAX + record.deadlineMs + SYNC_REPLY_MARGIN_MS)
    return { api, record, answer: await answer }
  }

  async function write(outcome: Outcome, record: RenderRecord, { ports }: Api): Promise<void> {
    const bytes = encodeManifest(aManifest({ record, outcome }))
    await ports.artifacts.create({ bucket: 'platen', key: manifestKey(record.id) }, bytes, NEVER)
  }

  test('answers 503 when the renderer began and never answered, and abandons the render', async () => {
    const { api, record, answer } = await lost(async () => {})
    expect(answer.statusCode).toBe(503)
    expect(await manifestIn(api, record)).toMatchObject({ kind: 'abandoned', outcome: { error: { code: 'canceled' } } })
  })

  test('answers the PDF from the store when only the reply was lost', async () => {
    const { answer } = await lost(async (record, api) => {
      const sha256 = createHash('sha256').update(PDF).digest('hex')
      const address = { bucket: 'platen', key: pdfKey(record, sha256) }
      await api.ports.artifacts.put(address, PDF, NEVER)
      const pdf = { address, bytes: PDF.length, sha256 }
      const warnings = [{ code: 'text_overflow', message: 'over' }] as const
      const document = { pdf, pages: 2, warnings, warningsOmitted: 4 }
      await write({ status: 'succeeded', finishedAt: NOON, durationMs: 77, ...document }, record, api)
    })
    expect(answer.rawPayload).toEqual(PDF)
    expect(answer.headers).toMatchObject({
      'x-service-render-ms': '77',
      'x-service-pages': '2',
      'x-service-warnings': '5',
    })
  })

  test('answers the failure from the manifest when only the reply was lost', async () => {
    const { answer } = await lost(async (record, api) => {
      const error = { code: 'page_limit', message: 'over 2000 pages' } as const
      await write({ status: 'failed', finishedAt: NOON, durationMs: 77, error }, record, api)
    })
    expect(answer.json().error).toMatchObject({ code: 'INTERNAL_ERROR', message: 'page_limit: over 2000 pages' })
  })
})
