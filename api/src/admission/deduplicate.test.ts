import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { IDEMPOTENCY_MS, RESERVATION_MS } from '@platen/contract/domain/limit.ts'
import {
  encodeManifest,
  manifestKey,
  type Outcome,
  type RenderRecord,
  removedManifestOf,
} from '@platen/contract/domain/render.ts'
import { mintRenderId } from '@platen/contract/domain/render-id.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { encodeClaim, IDEMPOTENCY_PREFIX, idempotencyFolder } from '@platen/contract/stored/idempotency.ts'
import { canonicalJson, sha256 } from '@platen/lib/canonical-json.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import {
  type Api,
  type ApiOptions,
  anApi,
  drain,
  end,
  isQueueEmpty,
  keysUnder,
  ENDED_PDF as PDF,
  queued,
  TEST_KEY,
} from '../../../test/fixture/api.ts'
import { aFailure, aManifest, aRecord, aReply, aTemplate, aTenant, NEVER, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import {
  IDEMPOTENCY_SETTLE_MS,
  IDEMPOTENCY_UNDER_WAY_MS,
  IDEMPOTENCY_YOUNG_MS,
  OUTCOME_POLL_MS_MIN,
  SYNC_START_MS_MAX,
} from './limit.ts'

const SYNC = { template: 'invoice', data: { number: 1, rows: [{ a: 1, b: 2 }] } }
const ASYNC = { ...SYNC, mode: 'async' }
const KEY = 'order 66/a'
const KEYED = { 'idempotency-key': KEY }
const SCOPE = { account: aTenant().account, environment: 'live' } as const
const FOLDER = idempotencyFolder(SCOPE, KEY)
/** Longer than any request of the fixture's tenant can be in progress. */
const LAPSED_MS = SYNC_START_MS_MAX + 28_000 + IDEMPOTENCY_UNDER_WAY_MS

const inBucket = (key: string) => ({ bucket: 'platen', key })
const unreachable = () => Promise.reject(new Unavailable('no answer'))

/** Sends a sync request, ends its render as a renderer would, and waits for the answer. */
async function rendered(api: Api, outcome: 'succeeded' | Extract<Outcome, { status: 'failed' }> = 'succeeded') {
  const answer = api.post(SYNC, KEYED)
  const record = await queued(api, 'sync')
  await drain(api)
  const reply =
    outcome === 'succeeded'
      ? aReply(PDF, { durationMs: 77 })
      : ({ kind: 'failed', error: outcome.error, durationMs: outcome.durationMs } as const)
  await api.ports.replies.reply(record.id, reply, NEVER)
  await end(api, record, outcome)
  return { record, answer: await answer }
}

/** The claim of this key that a process left when it died at noon. */
async function claimed(api: Api, body: object, fields: Partial<RenderRecord> = {}): Promise<RenderRecord> {
  const id = mintRenderId(SCOPE, api.ports.keys(), { now: NOON, random: Buffer.from('died!') })
  const mode = 'mode' in body ? 'async' : 'sync'
  const full = aRecord({ id, mode, lane: mode, data: { inline: SYNC.data }, ...fields })
  const { data: _data, ...record } = full
  const claim = encodeClaim({ fingerprint: sha256(canonicalJson(body)), claimedAt: NOON, record })
  await api.ports.artifacts.create(inBucket(`${FOLDER}1`), claim, NEVER)
  return full
}

/** Sends a request again, and resolves once it waits for the outcome of the first, or has its answer. */
async function repeat(api: Api, body: object) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const sleep = api.clock.sleep.bind(api.clock)
  api.clock.sleep = (...call) => {
    resolve()
    return sleep(...call)
  }
  const answer = api.post(body, KEYED)
  await Promise.race([answer, promise])
  return { answer }
}

describe('an Idempotency-Key', () => {
  test.for([
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['with a character beyond ASCII', 'é'],
    ['with a tab', 'a\tb'],
  ] as const)('%s is refused with 400', async ([, key]) => {
    const api = anApi()
    const answer = await api.post(ASYNC, { 'idempotency-key': key })
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'INVALID_PAYLOAD'])
    expect(answer.json().error.message).toContain('the header idempotency-key')
    expect(answer.json().error.details).toMatchObject([{ in: 'header', path: 'idempotency-key' }])
    expect(await isQueueEmpty(api)).toBe(true)
  })

  test.for(['k', 'k'.repeat(255), 'a b~!/..%00'])('may be %s', async (key) => {
    const api = anApi()
    const first = await api.post(ASYNC, { 'idempotency-key': key })
    const second = await api.post(ASYNC, { 'idempotency-key': key })
    expect(first.statusCode).toBe(202)
    expect(second.json()).toEqual(first.json())
  })

  test('is nowhere in the store', async () => {
    const api = anApi()
    await api.post(ASYNC, KEYED)
    expect(await keysUnder(api, IDEMPOTENCY_PREFIX)).toEqual([expect.not.stringContaining('order')])
  })

  test.for<[string, ApiOptions, Record<string, string>]>([
    ['another key', {}, { ...KEYED, 'idempotency-key': 'order 67' }],
    ['the other environment', {}, { ...KEYED, authorization: `Bearer ${TEST_KEY}` }],
    ['a tenant created again under the same name', { tenant: { account: 'anew' } }, KEYED],
  ])('says nothing to a request with %s', async ([, options, headers]) => {
    const api = anApi()
    const first = await api.post(ASYNC, KEYED)
    api.publish(options)
    const second = await api.post(ASYNC, headers)
    expect(second.statusCode).toBe(202)
    expect(second.json().render_id).not.toBe(first.json().render_id)
    expect(second.headers['idempotent-replayed']).toBeUndefined()
  })
})

describe('the same request again', () => {
  test('is answered 202 with the same id, and makes and costs nothing', async () => {
    const api = anApi()
    const first = await api.post(ASYNC, KEYED)
    const second = await api.post(ASYNC, KEYED)
    expect(second.statusCode).toBe(202)
    expect(second.json()).toEqual(first.json())
    expect(second.headers).toMatchObject({ 'idempotent-replayed': 'true', location: first.headers['location'] })
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(await drain(api)).toHaveLength(1)
    expect(await api.ports.limiter.usage(SCOPE.account, '2026-11', NEVER)).toEqual({ charged: 0, reserved: 1 })
    expect((await api.post(ASYNC)).headers['x-ratelimit-remaining']).toBe(
      `${Number(first.headers['x-ratelimit-remaining']) - 1}`,
    )
  })

  test('is the same in another order of its fields', async () => {
    const api = anApi()
    const first = await api.post(ASYNC, KEYED)
    const second = await api.post(
      { mode: 'async', data: { rows: [{ b: 2, a: 1 }], number: 1 }, template: 'invoice' },
      KEYED,
    )
    expect(second.json()).toEqual(first.json())
  })

  test.for<[string, object]>([
    ['other data', { ...ASYNC, data: { number: 2 } }],
    ['a list in another order', { ...ASYNC, data: { number: 1, rows: [{ b: 2 }, { a: 1 }] } }],
    ['one field more', { ...ASYNC, options: {} }],
    ['another mode', { ...SYNC, mode: 'sync' }],
  ])('with %s is another request, and refused with 422', async ([, body]) => {
    const api = anApi()
    await api.post(ASYNC, KEYED)
    const answer = await api.post(body, KEYED)
    expect([answer.statusCode, answer.json().error.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH'])
    expect(await drain(api)).toHaveLength(1)
  })

  test('gets the PDF of a sync render from the store, with the headers of the first', async () => {
    const api = anApi()
    const { answer } = await rendered(api)
    const again = await api.post(SYNC, KEYED)
    expect(again.rawPayload).toEqual(PDF)
    const names = ['x-service-render-id', 'x-service-render-ms', 'content-disposition', 'etag', 'content-type']
    for (const name of names) expect(again.headers[name]).toBe(answer.headers[name])
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await isQueueEmpty(api)).toBe(true)
  })

  test('gets the failure of a sync render', async () => {
    const api = anApi()
    const { answer } = await rendered(api, {
      status: 'failed',
      finishedAt: NOON,
      durationMs: 5,
      error: { code: 'page_limit', message: 'over 2000 pages' },
    })
    const again = await api.post(SYNC, { ...KEYED, 'x-request-id': String(answer.headers['x-request-id']) })
    expect([again.statusCode, again.body]).toEqual([500, answer.body])
    expect(again.headers).toMatchObject({
      'idempotent-replayed': 'true',
      'x-service-render-id': answer.headers['x-service-render-id'],
    })
  })

  test.for([
    [SYNC, 409, 'IDEMPOTENCY_IN_PROGRESS'],
    [{ ...SYNC, data: {} }, 422, 'IDEMPOTENCY_MISMATCH'],
  ] as const)('%o while the first waits for its answer is refused with %i', async ([body, status, code]) => {
    const api = anApi()
    const first = api.post(SYNC, KEYED)
    const { id } = await queued(api, 'sync')
    const second = await api.post(body, KEYED)
    expect([second.statusCode, second.json().error.code]).toEqual([status, code])
    expect(second.headers['retry-after']).toBe(status === 409 ? '1' : undefined)
    await api.ports.replies.reply(id, aReply(PDF), NEVER)
    expect((await first).statusCode).toBe(200)
  })

  test('fifty times at once, at two processes, is one render and one charge', async () => {
    const one = anApi({ tenant: { limits: { asyncRateLimitPerMinute: 4 } } })
    const { artifacts, limiter, queue, ledger, directory } = one.ports
    const other = anApi({ ports: { artifacts, limiter, queue, ledger, directory, ids: seededIds('other') } })
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => (at % 2 ? one : other).post(ASYNC, KEYED)))
    const accepted = answers.filter(({ statusCode }) => statusCode === 202)
    expect(answers.map(({ statusCode }) => statusCode).filter((status) => status !== 409)).toEqual(
      accepted.map(() => 202),
    )
    expect(new Set(accepted.map((answer) => answer.json().render_id)).size).toBe(1)
    expect(await drain(one)).toHaveLength(1)
    expect(await limiter.usage(SCOPE.account, '2026-11', NEVER)).toEqual({ charged: 0, reserved: 1 })
    expect((await one.post(ASYNC)).headers['x-ratelimit-remaining']).toBe('2')
  })

  test('after a day is a new one', async () => {
    const api = anApi()
    const first = await api.post(ASYNC, KEYED)
    await api.clock.advance(IDEMPOTENCY_MS - 1)
    expect((await api.post(ASYNC, KEYED)).json()).toEqual(first.json())
    await api.clock.advance(1)
    const second = await api.post({ ...ASYNC, data: {} }, KEYED)
    expect(second.statusCode).toBe(202)
    expect(second.json().render_id).not.toBe(first.json().render_id)
    expect(await keysUnder(api, FOLDER)).toHaveLength(1)
  })
})

describe('a refusal is not kept:', () => {
  const picky = aTemplate({ variablesSchema: { type: 'object', required: ['x'] } })

  test.for<[number, ApiOptions]>([
    [402, { tenant: { suspended: true } }],
    [404, { templates: [] }],
    [422, { templates: [picky] }],
    [429, { tenant: { limits: { asyncRateLimitPerMinute: 0 } } }],
    [402, { tenant: { limits: { renderLimitMonthly: 0 } } }],
  ])('a request that was answered %i for %o may succeed later', async ([status, options]) => {
    const api = anApi(options)
    expect((await api.post(ASYNC, KEYED)).statusCode).toBe(status)
    expect(await keysUnder(api, IDEMPOTENCY_PREFIX)).toEqual([])
    api.publish({})
    const answer = await api.post({ ...ASYNC, data: {} }, KEYED)
    expect(answer.statusCode).toBe(202)
    expect(answer.headers['idempotent-replayed']).toBeUndefined()
  })

  test('one that the queue did not take is begun again, under another id', async () => {
    const queue = memoryRenderQueue()
    const enqueue = queue.enqueue.bind(queue)
    let failures = 2
    queue.enqueue = (...call) => (failures-- > 0 ? unreachable() : enqueue(...call))
    const api = anApi({ ports: { queue } })
    expect((await api.post(ASYNC, KEYED)).statusCode).toBe(503)
    expect((await api.post(ASYNC, KEYED)).statusCode).toBe(503)
    expect((await api.post(ASYNC, KEYED)).statusCode).toBe(202)
    expect(await drain(api)).toHaveLength(1)
    expect(await keysUnder(api, FOLDER)).toHaveLength(1)
    expect(await api.ports.limiter.usage(SCOPE.account, '2026-11', NEVER)).toEqual({ charged: 0, reserved: 1 })
  })

  test('one that no renderer took in time is begun anew', async () => {
    const api = anApi()
    const first = api.post(SYNC, KEYED)
    const { id } = await queued(api, 'sync')
    await api.clock.advance(SYNC_START_MS_MAX)
    expect((await first).statusCode).toBe(503)
    await drain(api)
    const { record, answer } = await rendered(api)
    expect(answer.statusCode).toBe(200)
    expect(record.id).not.toBe(id)
  })

  test('one whose caller left is begun anew', async () => {
    const api = anApi()
    const left = await claimed(api, SYNC)
    await end(api, left, aFailure({ error: { code: 'canceled', message: 'the caller closed the connection' } }))
    const { record, answer } = await rendered(api)
    expect(answer.statusCode).toBe(200)
    expect(record.id).not.toBe(left.id)
  })

  test('one whose render was removed is begun anew', async () => {
    const api = anApi()
    const left = await claimed(api, SYNC)
    const removed = encodeManifest(removedManifestOf(aManifest({ record: left })))
    await api.ports.artifacts.create(inBucket(manifestKey(left.id)), removed, NEVER)
    const { record, answer } = await rendered(api)
    expect(answer.statusCode).toBe(200)
    expect(record.id).not.toBe(left.id)
  })

  test('one whose claim may or may not have been written costs nothing in the end', async () => {
    const artifacts: ArtifactStore = { ...memoryArtifactStore(), create: unreachable }
    const api = anApi({ ports: { artifacts } })
    expect((await api.post(ASYNC, KEYED)).statusCode).toBe(503)
    expect(await isQueueEmpty(api)).toBe(true)
    await api.clock.advance(RESERVATION_MS)
    expect(await api.ports.limiter.usage(SCOPE.account, '2026-11', NEVER)).toEqual({ charged: 0, reserved: 0 })
  })
})

describe('after the death of the process that had the first request', () => {
  test.for([ASYNC, SYNC])('%o is in progress for as long as it might be', async (body) => {
    const api = anApi()
    await claimed(api, body)
    const overAt = NOON + (body === ASYNC ? IDEMPOTENCY_UNDER_WAY_MS : LAPSED_MS)
    for (const at of [NOON, overAt - 1]) {
      await api.clock.advance(at - api.clock.now())
      const { answer } = await repeat(api, body)
      await api.clock.advance(IDEMPOTENCY_SETTLE_MS)
      const { statusCode, headers } = await answer
      expect([statusCode, headers['retry-after']]).toEqual([409, '1'])
    }
    expect((await api.post({ ...body, data: {} }, KEYED)).statusCode).toBe(422)
    expect(await isQueueEmpty(api)).toBe(true)
  })

  test('a sync render that nobody answers says how long it stays in progress', async () => {
    const api = anApi()
    await claimed(api, SYNC)
    await api.clock.advance(IDEMPOTENCY_YOUNG_MS)
    const { answer } = await repeat(api, SYNC)
    await api.clock.advance(IDEMPOTENCY_SETTLE_MS)
    const seconds = Number((await answer).headers['retry-after'])
    expect(seconds).toBe(Math.ceil((NOON + LAPSED_MS - api.clock.now()) / 1000))
    await api.clock.advance(seconds * 1000)
    const again = api.post(SYNC, KEYED)
    const { id } = await queued(api, 'sync')
    await api.ports.replies.reply(id, aReply(PDF), NEVER)
    expect((await again).statusCode).toBe(200)
  })

  test.for([ASYNC, SYNC])('%o is no longer in progress for a process that was alone since then', async (body) => {
    const api = anApi({ settings: { aloneSince: NOON + 1 } })
    const record = await claimed(api, body)
    const answer = api.post(body, KEYED)
    const next = await queued(api, body === ASYNC ? 'async' : 'sync')
    expect(next.id === record.id).toBe(body === ASYNC)
    if (body === ASYNC) expect((await answer).statusCode).toBe(202)
    else {
      await api.ports.replies.reply(next.id, aReply(PDF), NEVER)
      expect((await answer).statusCode).toBe(200)
    }
  })

  test('a sync render whose caller was answered before its outcome is stored has that outcome', async () => {
    const api = anApi()
    const record = await claimed(api, SYNC)
    const { answer } = await repeat(api, SYNC)
    await end(api, record, 'succeeded')
    await api.clock.advance(OUTCOME_POLL_MS_MIN)
    const { statusCode, headers, rawPayload } = await answer
    expect([statusCode, headers['idempotent-replayed'], rawPayload]).toEqual([200, 'true', PDF])
  })

  test.for<[string, (api: Api, record: RenderRecord) => Promise<unknown>]>([
    ['the ledger', ({ ports }, record) => ports.ledger.markQueued(record, NEVER)],
    ['its manifest', (api, record) => end(api, record, 'succeeded')],
    ['its manifest, failed,', (api, record) => end(api, record, aFailure())],
  ])('an async render that %s knows was accepted', async ([, leave]) => {
    const api = anApi()
    const record = await claimed(api, ASYNC)
    await leave(api, record)
    const answer = await api.post(ASYNC, KEYED)
    expect(answer.statusCode).toBe(202)
    expect(answer.json().render_id).toBe(record.id)
    expect(answer.headers['idempotent-replayed']).toBe('true')
    expect(await isQueueEmpty(api)).toBe(true)
  })

  test('an async render that left no trace is queued under the id it had, as it was admitted', async () => {
    const api = anApi({ tenant: { limits: { asyncRateLimitPerMinute: 0 } } })
    const record = await claimed(api, ASYNC, { lane: 'bulk', units: 3, requestId: 'the first' })
    await api.clock.advance(IDEMPOTENCY_UNDER_WAY_MS)
    const answer = await api.post(ASYNC, KEYED)
    expect(answer.statusCode).toBe(202)
    expect(answer.json().render_id).toBe(record.id)
    expect(await drain(api)).toEqual([record])
    expect(await api.ports.limiter.usage(SCOPE.account, '2026-11', NEVER)).toEqual({ charged: 0, reserved: 3 })
    expect((await api.post(ASYNC, KEYED)).json()).toEqual(answer.json())
    expect(await isQueueEmpty(api)).toBe(true)
  })

  test('a ledger that is away is in nobody’s way: what its manifest does not tell is queued again', async () => {
    const api = anApi({ ports: { ledger: { ...anApi().ports.ledger, find: unreachable } } })
    const record = await claimed(api, ASYNC)
    expect((await api.post(ASYNC, KEYED)).json().error.code).toBe('IDEMPOTENCY_IN_PROGRESS')
    await api.clock.advance(IDEMPOTENCY_UNDER_WAY_MS)
    expect((await api.post(ASYNC, KEYED)).json().render_id).toBe(record.id)
    expect(await drain(api)).toEqual([record])
    await end(api, record, 'succeeded')
    expect((await api.post(ASYNC, KEYED)).json().render_id).toBe(record.id)
  })

  test('one that cannot be queued then is not given up: it may be in the queue already', async () => {
    const api = anApi({ ports: { queue: { ...memoryRenderQueue(), enqueue: unreachable } } })
    const record = await claimed(api, ASYNC)
    await api.clock.advance(IDEMPOTENCY_UNDER_WAY_MS)
    const answer = await api.post(ASYNC, KEYED)
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['idempotent-replayed']).toBeUndefined()
    expect(await keysUnder(api, 'manifest/')).toEqual([])
    await api.ports.ledger.markQueued(record, NEVER)
    expect((await api.post(ASYNC, KEYED)).json().render_id).toBe(record.id)
  })

  test('data too large for the record is stored again under the id the render had', async () => {
    const big = { ...ASYNC, data: { ballast: 'x'.repeat(300_000) } }
    const api = anApi()
    const record = await claimed(api, big)
    await api.clock.advance(IDEMPOTENCY_UNDER_WAY_MS)
    expect((await api.post(big, KEYED)).statusCode).toBe(202)
    const [again] = await drain(api)
    const stored = inBucket(`acme/${record.id}/input`)
    expect(again?.data).toEqual({ stored })
    expect(JSON.parse(Buffer.from((await api.ports.artifacts.get(stored, NEVER)) ?? []).toString())).toEqual(big.data)
  })

  test('a sync render that has ended is answered', async () => {
    const api = anApi()
    const record = await claimed(api, SYNC)
    await end(api, record, 'succeeded')
    const answer = await api.post(SYNC, KEYED)
    expect(answer.rawPayload).toEqual(PDF)
    expect(answer.headers).toMatchObject({ 'x-service-render-id': record.id, 'x-service-render-ms': '77' })
  })

  test('a sync render that left no trace is abandoned and begun anew', async () => {
    const api = anApi()
    const lost = await claimed(api, SYNC)
    await api.clock.advance(LAPSED_MS)
    const { record, answer } = await rendered(api)
    expect(answer.statusCode).toBe(200)
    expect(record.id).not.toBe(lost.id)
    expect(await keysUnder(api, manifestKey(lost.id).replace(/[^/]*$/, ''))).toContain(manifestKey(lost.id))
    expect((await api.post(SYNC, KEYED)).headers['x-service-render-id']).toBe(record.id)
  })
})
