/** From event to recorded delivery: the dispatcher with the real sender, a real receiver and a log, on a clock that the test moves. */
import { createHmac } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { webhookSender } from '@platen/adapters/http/webhook-sender.ts'
import type { DeliveryRecord } from '@platen/contract/domain/delivery.ts'
import { type RenderEvent, webhookBodyOf } from '@platen/contract/domain/event.ts'
import { WEBHOOK_RETRY_MS } from '@platen/contract/domain/limit.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import { type DispatcherSettings, runDispatcher } from '@platen/events/webhook/dispatcher.ts'
import { WEBHOOK_DEFER_MS_MIN, WEBHOOK_JITTER_MAX, WEBHOOK_WAITING_PER_HOST_MAX } from '@platen/events/webhook/limit.ts'
import { parseCidrs } from '@platen/lib/address.ts'
import { NO_TRACER } from '@platen/lib/tracer.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { afterEach, assert, beforeEach, expect, test } from 'vitest'
import type { Harness } from '../conformance/harness.ts'
import { aFailure, aManifest, anEvent, aRecord, aTenant, logTo, NEVER, NOON } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'
import { memoryEventLog } from '../fixture/memory/event-log.ts'
import { seededIds } from '../fixture/memory/ids.ts'
import { answering, aReceiver, type Receiver } from '../topology/receiver.ts'

const SECRET = 'service_webhook_of-acme-in-tests'
const SECRETS = { oldest: SECRET, all: [SECRET] }
const POLICY = { isHttpAllowed: true, allowCidrs: parseCidrs('127.0.0.0/8') ?? [] }

export function describeDispatcher(makeHarness: (clock: ManualClock) => Promise<Harness<DeliveryLog>>): void {
  let clock: ManualClock
  let receiver: Receiver
  let harness: Harness<DeliveryLog>
  let log: DeliveryLog
  let tenants: Tenant[]
  let settings: DispatcherSettings
  let lines: string[]
  let running: AsyncDisposable | undefined
  const events = { current: memoryEventLog() }

  let deferrals: string[] = []
  beforeEach(async () => {
    clock = manualClock(NOON)
    receiver = await aReceiver()
    harness = await makeHarness(clock)
    log = await harness.open()
    events.current = memoryEventLog()
    tenants = [aTenant()]
    deferrals = []
    settings = { brand: 'service', retriesMax: 5, signingSecretsOf: () => SECRETS }
    lines = []
    running = undefined
  })
  afterEach(async () => {
    await running?.[Symbol.asyncDispose]()
    await receiver[Symbol.asyncDispose]()
    await harness[Symbol.asyncDispose]()
  })

  /** Runs the dispatcher until it is disposed, or the test is over. */
  function start(): AsyncDisposable {
    const stop = new AbortController()
    const sender = webhookSender({ clock, policy: POLICY })
    const deferred = (reason: string) => void deferrals.push(reason)
    const uncounted = () => undefined
    const meter = { dispatching: uncounted, begun: uncounted, deferred, attempted: uncounted, ended: uncounted }
    const directory = {
      current: () => ({
        revision: 1,
        tenants: new Map(tenants.map((tenant) => [tenant.id, tenant])),
        keys: new Map(),
        templates: new Map(),
      }),
    }
    const ports = {
      events: events.current,
      deliveries: log,
      artifacts: memoryArtifactStore(),
      serviceBucket: 'platen',
      directory,
      sender,
      meter,
      clock,
      ids: seededIds('a'),
      tracer: NO_TRACER,
      log: logTo(({ fields, message }) => lines.push(`${message} ${JSON.stringify(fields)}`)),
    }
    const ended = runDispatcher(ports, settings, stop.signal)
    running = {
      async [Symbol.asyncDispose]() {
        stop.abort()
        await ended
        await sender[Symbol.asyncDispose]()
      },
    }
    return running
  }

  async function happen(event: RenderEvent = eventTo(`${receiver.url}/hook?a=b`)): Promise<RenderEvent> {
    await events.current.append(event, NEVER)
    return event
  }

  function eventTo(webhookUrl: string, fields: Parameters<typeof aRecord>[0] = {}): RenderEvent {
    return anEvent(aManifest({ record: aRecord({ webhookUrl, ...fields }) }))
  }

  /** The record once it is as wanted. */
  async function recorded(id: string, isWanted: (record: DeliveryRecord) => boolean): Promise<DeliveryRecord> {
    for (;;) {
      const record = await log.find(id, NEVER)
      if (record !== undefined && isWanted(record)) return record
      await setImmediate()
    }
  }
  const afterAttempts = (id: string, count: number) => recorded(id, ({ attempts }) => attempts.length === count)
  const endOf = (id: string) => recorded(id, ({ status }) => status !== 'scheduled')

  /** Moves time to when the next attempt is due, with the dispatcher waiting for it. */
  async function untilDue({ dueAt }: DeliveryRecord): Promise<void> {
    assert(dueAt !== undefined, 'it is scheduled')
    while (clock.armed() === 0) await setImmediate()
    await clock.advance(dueAt - clock.now())
  }

  test('delivers what a render came to, signed, with the trace of its request', async () => {
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'rojo=1' }
    const event = await happen(eventTo(`${receiver.url}/hook?a=b`, { trace }))
    start()
    const { status, attempts } = await endOf(event.id)
    expect([status, attempts]).toEqual([
      'delivered',
      [{ startedAt: NOON, durationMs: 0, result: 'ok', statusCode: 204 }],
    ])
    const [{ path, headers, body } = nothing()] = receiver.received
    const timestamp = `${NOON / 1000}`
    expect([path, body]).toEqual(['/hook?a=b', webhookBodyOf(event)])
    expect(headers).toMatchObject({
      ...trace,
      'content-type': 'application/json',
      'user-agent': 'Platen',
      'x-service-event': 'render.succeeded',
      'x-service-delivery': event.id,
      'x-service-timestamp': timestamp,
      'x-service-signature': `sha256=${hmac(SECRET, `${timestamp}.${body}`, 'hex')}`,
      'webhook-id': event.id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${hmac(SECRET, `${event.id}.${timestamp}.${body}`, 'base64')}`,
    })
  })

  test('reports a failure, too, and nothing if no receiver was named', async () => {
    await happen(anEvent(aManifest({ outcome: aFailure() })))
    const failed = await happen(
      anEvent(aManifest({ record: aRecord({ webhookUrl: receiver.url }), outcome: aFailure() })),
    )
    start()
    await endOf(failed.id)
    expect(receiver.received.map(({ headers }) => headers['x-service-event'])).toEqual(['render.failed'])
  })

  test('climbs the whole ladder, signed again each time under the same id, and then gives up', async () => {
    receiver.answer(answering(503))
    const event = await happen()
    start()
    const times: number[] = []
    for (let made = 1; made <= WEBHOOK_RETRY_MS.length; made++) {
      const record = await afterAttempts(event.id, made)
      times.push(clock.now())
      const wait = (record.dueAt ?? 0) - clock.now()
      const step = WEBHOOK_RETRY_MS[made - 1] ?? 0
      expect(wait).toBeGreaterThanOrEqual(step)
      expect(wait).toBeLessThanOrEqual(step * (1 + WEBHOOK_JITTER_MAX) + 1)
      await untilDue(record)
    }
    const { status, attempts } = await endOf(event.id)
    expect(status).toBe('exhausted')
    expect(attempts.map(({ result, statusCode }) => `${result} ${statusCode}`)).toEqual(Array(6).fill('status 503'))
    expect(attempts.slice(1).every(({ startedAt }, at) => startedAt > (times[at] ?? 0))).toBe(true)
    expect(new Set(receiver.received.map(({ headers }) => headers['x-service-delivery']))).toEqual(new Set([event.id]))
    for (const [at, { headers, body }] of receiver.received.entries()) {
      const timestamp = Math.floor((attempts[at]?.startedAt ?? 0) / 1000)
      expect(headers['x-service-signature']).toBe(`sha256=${hmac(SECRET, `${timestamp}.${body}`, 'hex')}`)
    }
    expect(new Set(receiver.received.map(({ headers }) => headers['x-service-signature'])).size).toBe(6)
  })

  test.for<[string, RequestListener]>([
    ['a redirect', answering(307, { location: '/there' })],
    ['404', answering(404)],
    ['a connection that is reset', ({ socket }) => socket.destroy()],
  ])('tries again after %s, and stops when it is through', async ([, listener]) => {
    receiver.answer(listener)
    const event = await happen()
    start()
    const record = await afterAttempts(event.id, 1)
    expect(record.status).toBe('scheduled')
    receiver.answer(answering(200))
    await untilDue(record)
    expect(await endOf(event.id)).toMatchObject({ status: 'delivered', attempts: [{}, { result: 'ok' }] })
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook?a=b', '/hook?a=b'])
  })

  test('takes a 200 for what it is, whatever happens to the connection afterwards', async () => {
    receiver.answer((request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('half', () => request.socket.destroy())
    })
    const event = await happen()
    start()
    expect(await endOf(event.id)).toMatchObject({ status: 'delivered', attempts: [{ result: 'ok' }] })
  })

  test('waits as long as a receiver asks for, by the steps there are', async () => {
    receiver.answer(answering(429, { 'retry-after': '20' }))
    const event = await happen()
    start()
    const { dueAt } = await afterAttempts(event.id, 1)
    expect((dueAt ?? 0) - NOON).toBeGreaterThanOrEqual(30_000)
    expect((dueAt ?? 0) - NOON).toBeLessThanOrEqual(33_001)
  })

  test('ends with 410 at once', async () => {
    receiver.answer(answering(410))
    const event = await happen()
    start()
    expect(await endOf(event.id)).toMatchObject({ status: 'gone', attempts: [{ statusCode: 410 }] })
  })

  test('ends as blocked where the target is one that is not called', async () => {
    const event = await happen(eventTo('http://169.254.169.254/latest/meta-data'))
    start()
    const record = await endOf(event.id)
    expect(record).toMatchObject({ status: 'blocked', attempts: [{ result: 'blocked' }] })
    expect(record.reason).toBe(record.attempts[0]?.message)
  })

  test('tries once after a sync render, and once in all without retries', async () => {
    receiver.answer(answering(500))
    const sync = await happen(eventTo(receiver.url, { mode: 'sync' }))
    settings = { ...settings, retriesMax: 0 }
    const only = await happen()
    start()
    for (const { id } of [sync, only]) expect((await endOf(id)).attempts).toHaveLength(1)
    expect((await endOf(sync.id)).status).toBe('exhausted')
  })

  test.for<[string, Partial<Tenant>, RegExp, string]>([
    ['does not exist', {}, /no webhook secret/, 'secret_missing'],
    ['cannot be opened', { webhookSecrets: [{ sealed: 'lost' }] }, /cannot open .* operator/, 'secret_unreadable'],
  ])('waits for a secret that %s, says so, and goes on when there is one', async ([, fields, reason, deferral]) => {
    let secrets: typeof SECRETS | undefined
    settings = { ...settings, signingSecretsOf: () => secrets }
    tenants = [aTenant(fields)]
    const event = await happen()
    start()
    const waiting = await recorded(event.id, (record) => record.reason !== undefined)
    expect(waiting).toMatchObject({ status: 'scheduled', attempts: [], reason: expect.stringMatching(reason) })
    expect(deferrals).toContain(deferral)
    secrets = SECRETS
    await untilDue(waiting)
    expect(await endOf(event.id)).toMatchObject({ status: 'delivered', attempts: [{ result: 'ok' }] })
  })

  test('signs by both secrets while a rotation overlaps, the single signature by the one before', async () => {
    settings = { ...settings, signingSecretsOf: () => ({ oldest: SECRET, all: ['the new secret of acme', SECRET] }) }
    const event = await happen()
    start()
    await endOf(event.id)
    const [{ headers, body } = nothing()] = receiver.received
    const stamp = NOON / 1000
    expect(headers['x-service-signature']).toBe(`sha256=${hmac(SECRET, `${stamp}.${body}`, 'hex')}`)
    const signed = (secret: string) => `v1,${hmac(secret, `${event.id}.${stamp}.${body}`, 'base64')}`
    expect(headers['webhook-signature']).toBe(`${signed('the new secret of acme')} ${signed(SECRET)}`)
  })

  test('sends nothing for a tenant that is no more, or is another under the old name', async () => {
    tenants = [aTenant({ account: 'created again' })]
    const event = await happen()
    start()
    expect(await endOf(event.id)).toMatchObject({ status: 'blocked', reason: 'the tenant no longer exists' })
    expect(receiver.received).toEqual([])
  })

  test('makes one attempt more for each that is asked for, and leaves the ladder as it was', async () => {
    receiver.answer(answering(500))
    const event = await happen()
    start()
    const before = await afterAttempts(event.id, 1)
    await log.redeliver(event.id, NEVER)
    const after = await afterAttempts(event.id, 2)
    expect([after.status, after.dueAt]).toEqual(['scheduled', before.dueAt])
    receiver.answer(answering(204))
    await log.redeliver(event.id, NEVER)
    expect((await endOf(event.id)).status).toBe('delivered')
    await log.redeliver(event.id, NEVER)
    await afterAttempts(event.id, 4)
    expect(new Set(receiver.received.map(({ headers }) => headers['x-service-delivery'])).size).toBe(1)
  })

  test('puts off what finds no room, without an attempt, and delivers it in the end', async () => {
    const many = 3 * WEBHOOK_WAITING_PER_HOST_MAX
    const { promise: mayAnswer, resolve: letAnswer } = Promise.withResolvers<void>()
    receiver.answer((_request, response) => void mayAnswer.then(() => response.writeHead(204).end()))
    const ids: string[] = []
    for (let at = 0; at < many; at++) ids.push((await happen(eventTo(receiver.url))).id)
    start()
    const all = () => Promise.all(ids.map((id) => log.find(id, NEVER)))
    const isPutOff = (record?: DeliveryRecord) => (record?.dueAt ?? 0) >= NOON + WEBHOOK_DEFER_MS_MIN
    while ((await all()).filter(isPutOff).length < WEBHOOK_WAITING_PER_HOST_MAX) await setImmediate()
    letAnswer()
    for (;;) {
      const left = (await all()).filter((record) => record?.status !== 'delivered')
      if (left.length === 0) break
      // Time goes on when nobody is being called.
      const areWaiting = left.every((record) => (record?.dueAt ?? 0) > clock.now())
      if (areWaiting && clock.armed() > 0) await clock.advance(WEBHOOK_DEFER_MS_MIN)
      else await setImmediate()
    }
    expect((await all()).map((record) => record?.attempts.length)).toEqual(ids.map(() => 1))
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set(ids))
  })

  test('goes on when a log that could not be reached can be again', async () => {
    const event = await happen()
    const [deliveries, recordedEvents] = [log, events.current]
    const away = { consume: 1, follow: 1 }
    async function* failing(): AsyncGenerator<never> {
      yield await Promise.reject(new Unavailable('the disk is full'))
    }
    log = { ...deliveries, consume: (signal) => (away.consume-- > 0 ? failing() : deliveries.consume(signal)) }
    events.current = {
      ...recordedEvents,
      follow: (reader, signal) => (away.follow-- > 0 ? failing() : recordedEvents.follow(reader, signal)),
    }
    start()
    while (clock.armed() < 2) await setImmediate()
    await clock.advance(500)
    expect((await endOf(event.id)).status).toBe('delivered')
  })

  test('ends when the calls in hand are recorded, and goes on from there', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<() => void>()
    receiver.answer((_request, response) => arrive(() => response.writeHead(500).end()))
    const event = await happen()
    const first = start()
    const answer = await arrived
    const closed = first[Symbol.asyncDispose]()
    answer()
    await closed
    const record = await afterAttempts(event.id, 1)
    expect(record.status).toBe('scheduled')
    if (harness.reopen !== undefined) log = await harness.reopen()
    receiver.answer(answering(204))
    start()
    await untilDue(record)
    expect((await endOf(event.id)).status).toBe('delivered')
  })

  test('schedules an event once, however often it is read, and none that is kept no longer', async () => {
    const event = await happen()
    const first = start()
    await endOf(event.id)
    await first[Symbol.asyncDispose]()
    const old = await happen(eventTo(receiver.url, { retentionDays: 1 }))
    await clock.advance(2 * 24 * 60 * 60 * 1000)
    // As after a crash: nothing of what was read is written down.
    const again = memoryEventLog()
    for (const each of [event, old]) await again.append(each, NEVER)
    events.current = again
    const last = await happen(eventTo(receiver.url, { retentionDays: 30 }))
    start()
    await endOf(last.id)
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([event.id, last.id])
    expect(await log.find(old.id, NEVER)).toBeUndefined()
  })

  test('writes no secret and no signature to its log', async () => {
    receiver.answer(answering(500))
    const event = await happen()
    const dispatcher = start()
    await afterAttempts(event.id, 1)
    // It is logged after it can be found.
    await dispatcher[Symbol.asyncDispose]()
    const { id: render, tenant, requestId } = event.manifest.render
    expect(lines.map((line) => JSON.parse(line.slice(line.indexOf('{'))))).toMatchObject([
      { delivery: event.id, render, tenant, requestId, statusCode: 500 },
    ])
    expect(lines.join('\n')).not.toMatch(new RegExp(`${SECRET}|sha256=|v1,`))
  })
}

function hmac(secret: string, text: string, encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', secret).update(text).digest(encoding)
}

function nothing(): never {
  throw new Error('nothing was received')
}
