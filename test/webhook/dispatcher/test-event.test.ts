/** A test event from its request to its removal: the API and the dispatcher with the real sender, on one delivery log. */
import { createHmac } from 'node:crypto'
import { webhookSender } from '@platen/adapters/http/webhook-sender.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { SigningSecrets } from '@platen/contract/domain/webhook-secret.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { DeliveryDetail } from '@platen/contract/schema/response.ts'
import { removeExpired } from '@platen/events/retention/expired.ts'
import { runDispatcher } from '@platen/events/webhook/dispatcher.ts'
import { parseCidrs } from '@platen/lib/address.ts'
import { NO_TRACER } from '@platen/lib/tracer.ts'
import { assert, beforeEach, expect, test } from 'vitest'
import { type Api, anApi, keysUnder, LIVE_KEY } from '../../fixture/api.ts'
import { NEVER, SILENT } from '../../fixture/build.ts'
import { ofTest } from '../../fixture/lifetime.ts'
import { manualClock } from '../../fixture/memory/clock.ts'
import { memoryDeliveryLog } from '../../fixture/memory/delivery-log.ts'
import { memoryEventLog } from '../../fixture/memory/event-log.ts'
import { seededIds } from '../../fixture/memory/ids.ts'
import { answering, aReceiver, type Receiver } from '../../topology/receiver.ts'

const BOTH: SigningSecrets = { oldest: 'the secret of acme', all: ['the new secret of acme', 'the secret of acme'] }
const LOOPBACK = { isHttpAllowed: true, allowCidrs: parseCidrs('127.0.0.0/8') ?? [] }
const DAY_MS = 24 * 60 * 60 * 1000

let receiver: Receiver
let api: Api
let log: DeliveryLog
beforeEach(async () => {
  receiver = ofTest(await aReceiver())
  const clock = systemClock()
  log = memoryDeliveryLog(clock)
  api = anApi({ ports: { deliveries: log, clock }, settings: { webhooks: LOOPBACK } })
})

/** Runs the dispatcher as long as the test. */
function dispatching({ hasSecret = true, policy = LOOPBACK } = {}): void {
  const stop = new AbortController()
  const sender = webhookSender({ clock: api.ports.clock, policy })
  const uncounted = () => undefined
  const meter = {
    dispatching: uncounted,
    begun: uncounted,
    deferred: uncounted,
    attempted: uncounted,
    ended: uncounted,
  }
  const ports = { ...api.ports, deliveries: log, events: memoryEventLog(), serviceBucket: 'platen', sender, meter }
  const others = { ids: seededIds('a'), tracer: NO_TRACER, log: SILENT }
  const settings = { brand: 'service', retriesMax: 5, signingSecretsOf: () => (hasSecret ? BOTH : undefined) }
  const ended = runDispatcher({ ...ports, ...others }, settings, stop.signal)
  ofTest({
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
      await sender[Symbol.asyncDispose]()
    },
  })
}

async function send(url = `${receiver.url}/hook`): Promise<DeliveryDetail> {
  const headers = { authorization: `Bearer ${LIVE_KEY}`, 'content-type': 'application/json' }
  const payload = JSON.stringify({ url })
  const answer = await api.call({ method: 'POST', path: '/api/v1/webhooks/test', headers, payload })
  expect(answer.statusCode).toBe(200)
  return answer.json()
}

test('has all headers of a webhook, and a signature by each secret while two are in force', async () => {
  dispatching()
  const { id } = await send()
  const [received] = receiver.received
  assert(received !== undefined, 'it was sent')
  const { headers, body } = received
  const stamp = String(headers['x-service-timestamp'])
  const hmac = (secret: string, text: string, encoding: 'hex' | 'base64') =>
    createHmac('sha256', secret).update(text).digest(encoding)
  const standard = BOTH.all.map((secret) => `v1,${hmac(secret, `${id}.${stamp}.${body}`, 'base64')}`)
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'x-service-event': 'webhook.test',
    'x-service-delivery': id,
    'x-service-signature': `sha256=${hmac(BOTH.oldest, `${stamp}.${body}`, 'hex')}`,
    'webhook-id': id,
    'webhook-timestamp': stamp,
    'webhook-signature': standard.join(' '),
  })
  expect(JSON.parse(body)).toMatchObject({ id, status: 'test' })
})

test.for([
  ['fails', answering(503, { 'retry-after': '1' }), 503, 'exhausted'],
  ['redirects', answering(307, { location: 'https://example.com/' }), 307, 'exhausted'],
  ['wants no more', answering(410), 410, 'gone'],
] as const)('is sent once to a receiver that %s', async ([, listener, statusCode, status]) => {
  receiver.answer(listener)
  dispatching()
  expect(await send()).toMatchObject({ status, attempts: [{ result: 'status', status_code: statusCode }] })
  expect(receiver.received).toHaveLength(1)
})

test('gives the reason if nobody answers there', async () => {
  const { url } = receiver
  await receiver[Symbol.asyncDispose]()
  dispatching()
  expect(await send(url)).toMatchObject({ status: 'exhausted', attempts: [{ result: 'connection' }] })
})

test('is not sent where the addresses of the host are not public', async () => {
  dispatching({ policy: { ...LOOPBACK, allowCidrs: [] } })
  const { status, attempts } = await send()
  expect([status, attempts]).toMatchObject([
    'blocked',
    [{ result: 'blocked', message: expect.stringMatching(/public/) }],
  ])
  expect(receiver.received).toEqual([])
})

test('does not wait for a webhook secret, and says that there is none', async () => {
  dispatching({ hasSecret: false })
  const { status, reason } = await send()
  expect([status, reason]).toEqual(['blocked', expect.stringMatching(/no webhook secret/)])
  expect(receiver.received).toEqual([])
})

test('is removed with all that is kept of it a day later', async () => {
  dispatching()
  const { id } = await send()
  const { artifacts, clock } = api.ports
  const remove = async (ms: number) => {
    const later = manualClock(clock.now() + ms)
    const meter = { ended: () => undefined }
    await removeExpired(
      { artifacts, deliveries: log, serviceBucket: 'platen', clock: later, log: SILENT, meter },
      NEVER,
    )
  }
  await remove(DAY_MS)
  expect(await log.find(id, NEVER)).toBeDefined()
  await remove(2 * DAY_MS)
  expect(await log.find(id, NEVER)).toBeUndefined()
  expect(await keysUnder(api, '')).toEqual([])
})
