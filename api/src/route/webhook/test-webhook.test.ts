import { gzipSync } from 'node:zlib'
import type { Attempt, Delivery } from '@platen/contract/domain/delivery.ts'
import type { DeliveryLog, NextStatus } from '@platen/contract/port/delivery-log.ts'
import type { DeliveryDetail } from '@platen/contract/schema/response.ts'
import { decodeExpiry } from '@platen/contract/stored/expiry.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  type Api,
  type ApiOptions,
  anApi,
  FOREIGN_KEY,
  keysUnder,
  LIVE_KEY,
  TEST_KEY,
} from '../../../../test/fixture/api.ts'
import { aTenant, NEVER, NOON } from '../../../../test/fixture/build.ts'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'
import { memoryDeliveryLog } from '../../../../test/fixture/memory/delivery-log.ts'
import { TEST_EVENT_WAIT_MS, TEST_EVENTS_PER_MINUTE } from '../limit.ts'
import { TEST_EVENT_POLL_MS } from './test-webhook.ts'

const PATH = '/api/v1/webhooks/test'
const GZIPPED = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
const OK: Attempt = { startedAt: NOON + 5, durationMs: 42, result: 'ok', statusCode: 204 }
const URL = 'https://hooks.example.com/pdf?token=x'

let log: DeliveryLog
let api: Api
beforeEach(() => {
  log = memoryDeliveryLog(manualClock(NOON))
  api = using({})
})

function using(options: ApiOptions): Api {
  return anApi({ ...options, ports: { deliveries: log, ...options.ports } })
}

function send(body: unknown = { url: URL }, key = LIVE_KEY): ReturnType<Api['call']> {
  return api.call({
    method: 'POST',
    path: PATH,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  })
}

/** Makes the attempt of the next due delivery. */
async function attempt(made: Attempt, next: NextStatus): Promise<Delivery> {
  for await (const due of log.consume(NEVER)) {
    await due.record(made, next)
    return due.delivery
  }
  throw new Error('the log ended')
}

/** Lets time pass until the answer is there. */
async function answerTo(sending: ReturnType<typeof send>): ReturnType<typeof send> {
  const answered = sending.then(() => true)
  const passed = () => api.clock.advance(TEST_EVENT_POLL_MS).then(() => false)
  while (!(await Promise.race([answered, passed()]))) continue
  return await sending
}

describe('POST /webhooks/test', () => {
  test('answers what the attempt brought, and sends it once', async () => {
    const sending = send()
    const delivery = await attempt(OK, { status: 'delivered' })
    expect(delivery).toMatchObject({ type: 'webhook.test', url: URL, retriesMax: 0, account: aTenant().account })
    expect(JSON.parse(delivery.body)).toEqual({
      id: delivery.id,
      status: 'test',
      created_at: '2026-11-21T12:00:00.000Z',
    })
    const answer = await answerTo(sending)
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      {
        id: delivery.id,
        event: 'webhook.test',
        url: URL,
        status: 'delivered',
        created_at: '2026-11-21T12:00:00.000Z',
        attempts: [{ started_at: '2026-11-21T12:00:00.005Z', duration_ms: 42, result: 'ok', status_code: 204 }],
      },
    ])
  })

  test('answers with the reason of a failed attempt', async () => {
    const sending = send()
    await attempt({ ...OK, result: 'blocked', message: 'no' }, { status: 'blocked', reason: 'no' })
    const answer = await answerTo(sending)
    expect([answer.statusCode, answer.json()]).toMatchObject([
      200,
      { status: 'blocked', attempts: [{ result: 'blocked' }] },
    ])
  })

  test('says where to look later when the attempt takes too long, also while the log is away', async () => {
    const find = () => Promise.reject(new Unavailable('away'))
    for (const deliveries of [log, { ...log, find }]) {
      api = using({ ports: { deliveries } })
      const answer = await answerTo(send())
      const { id } = answer.json<DeliveryDetail>()
      expect([answer.statusCode, answer.headers['location']]).toEqual([202, `/api/v1/deliveries/${id}`])
      expect(answer.json()).toMatchObject({ status: 'scheduled', attempts: [] })
      expect(api.clock.now() - NOON).toBeGreaterThanOrEqual(TEST_EVENT_WAIT_MS)
    }
  })

  test('says when its delivery is to be removed, before it is sent', async () => {
    const schedule = () => Promise.reject(new Unavailable('away'))
    api = using({ ports: { deliveries: { ...log, schedule } } })
    expect((await send()).statusCode).toBe(503)
    const [key = ''] = await keysUnder(api, 'expiry/')
    expect(key).toContain('expiry/2026-11-22/')
    const [stored] = decodeExpiry((await api.ports.artifacts.get({ bucket: 'platen', key }, NEVER)) ?? Buffer.of())
    expect(stored).toMatchObject({ account: aTenant().account })
  })

  test('takes a gzipped body', async () => {
    const headers = {
      authorization: `Bearer ${LIVE_KEY}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    }
    const payload = gzipSync(JSON.stringify({ url: URL }))
    const sending = api.call({ method: 'POST', path: PATH, headers, payload })
    await attempt(OK, { status: 'delivered' })
    expect((await answerTo(sending)).statusCode).toBe(200)
  })

  test.for([
    [{}, '/url'],
    [[], ''],
    [{ url: 7 }, '/url'],
    [{ url: null }, '/url'],
    [{ url: 'nonsense' }, '/url'],
    [{ url: 'http://example.com/' }, '/url'],
    [{ url: 'https://10.0.0.1/' }, '/url'],
    [{ url: 'https://169.254.169.254/latest' }, '/url'],
    [{ url: 'https://user@example.com/' }, '/url'],
    [{ url: 'https://example.com:25/' }, '/url'],
    [{ url: `https://example.com/${'a'.repeat(2048)}` }, '/url'],
    [{ url: URL, event: 'render.failed' }, '/event'],
  ] as const)('refuses %j and sends nothing', async ([body, path]) => {
    const answer = await send(body)
    expect([answer.statusCode, answer.json().error]).toMatchObject([
      400,
      { code: 'INVALID_PAYLOAD', details: [{ path }] },
    ])
    expect(await keysUnder(api, '')).toEqual([])
  })

  test.for([
    ['no body', {}, '', 'INVALID_PAYLOAD'],
    ['no JSON', { 'content-type': 'application/json' }, '{', 'INVALID_PAYLOAD'],
    ['another type', { 'content-type': 'text/plain' }, '{}', 'UNSUPPORTED_MEDIA_TYPE'],
    [
      'more than 16 KiB',
      { 'content-type': 'application/json' },
      `{"url":"${'a'.repeat(16 * 1024)}"}`,
      'PAYLOAD_TOO_LARGE',
    ],
    ['more than 16 KiB in gzip', GZIPPED, gzipSync(' '.repeat(17 * 1024)), 'PAYLOAD_TOO_LARGE'],
  ] as const)('refuses a body of %s', async ([, headers, payload, code]) => {
    const answer = await api.call({
      method: 'POST',
      path: PATH,
      headers: { authorization: `Bearer ${LIVE_KEY}`, ...headers },
      ...(payload !== '' && { payload }),
    })
    expect(answer.json().error.code).toBe(code)
  })

  test('refuses a suspended tenant', async () => {
    api = using({ tenant: { suspended: true } })
    const answer = await send()
    expect([answer.statusCode, answer.json().error.reason]).toEqual([402, 'suspended'])
  })

  test('admits ten a minute of a tenant, whatever its keys, and counts no refused one', async () => {
    await send({ url: 'https://10.0.0.1/' })
    const sending = Array.from({ length: TEST_EVENTS_PER_MINUTE }, (_, at) =>
      send({ url: URL }, at % 2 ? LIVE_KEY : TEST_KEY),
    )
    for (const _ of sending) await attempt(OK, { status: 'delivered' })
    const refused = await send()
    expect([refused.statusCode, refused.headers['retry-after'], refused.json().error.code]).toEqual([
      429,
      '6',
      'RATE_LIMITED',
    ])
    const other = send({ url: URL }, FOREIGN_KEY)
    await attempt(OK, { status: 'delivered' })
    const answers = await Promise.all([...sending, other].map(answerTo))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(TEST_EVENTS_PER_MINUTE + 1).fill(200))
    await api.clock.advance(60_000)
    const again = send()
    await attempt(OK, { status: 'delivered' })
    expect((await answerTo(again)).statusCode).toBe(200)
  })
})

describe('the delivery of a test event', () => {
  test('can be read as long as it is kept, by keys of its environment alone', async () => {
    const sending = send()
    const { id } = await attempt(OK, { status: 'delivered' })
    const { body } = await answerTo(sending)
    expect((await api.get(`/api/v1/deliveries/${id}`)).body).toBe(body)
    for (const key of [TEST_KEY, FOREIGN_KEY]) {
      const answer = await api.get(`/api/v1/deliveries/${id}`, { authorization: `Bearer ${key}` })
      expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'DELIVERY_NOT_FOUND'])
    }
  })

  test('is not repeated', async () => {
    const sending = send()
    const { id } = await attempt(OK, { status: 'delivered' })
    await answerTo(sending)
    const headers = { authorization: `Bearer ${LIVE_KEY}` }
    const answer = await api.call({ method: 'POST', path: `/api/v1/deliveries/${id}/redeliver`, headers })
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'DELIVERY_NOT_FOUND'])
    expect(await log.find(id, NEVER)).toMatchObject({ attempts: [{}] })
  })
})
