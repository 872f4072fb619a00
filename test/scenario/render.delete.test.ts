/** What a caller takes back: a render that waits or runs is canceled, one that has ended is removed, and nobody is told anything else. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'
import { key, LETTER_TSX, liveOf, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { IS_LONG, SEED, seeded } from '../run/form.ts'
import { poll } from '../time/poll.ts'
import { aReceiver, LOOPBACK_ALLOWED, type Receiver } from '../topology/receiver.ts'
import { type RenderAnswer, reaches, render, request, submit, type TestedService } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

const SIDES = 50
const RACES = IS_LONG ? 40 : 8

const ENDLESS = { react_pdf: { template: 'letter', data: { isEndless: true } }, html: { template: 'page', data: {} } }
const LETTER = { template: 'letter', data: {} }

const [ACME, RACER, ONE] = ['acme', 'racer', 'one'].map(liveOf) as [string, string, string]
const limits = {
  htmlEngineEnabled: true,
  javascriptEnabled: true,
  renderTimeoutSeconds: 120,
  syncRateLimitPerMinute: 100_000,
  asyncRateLimitPerMinute: 100_000,
}
const everybody = (name: string) => [
  key(name, 'live', liveOf(name)),
  template(name, 'letter', tsx(LETTER_TSX)),
  template(name, 'page', {
    engine: 'Html',
    html: { template: { inline: '<script>for (;;);</script>' }, javascriptEnabled: true },
  }),
]
const DOCUMENTS = [
  plan('any', limits),
  plan('racing', { ...limits, renderLimitMonthly: 2 * RACES }),
  plan('one', { ...limits, renderLimitMonthly: 1 }),
  tenant('acme', 'any'),
  tenant('racer', 'racing'),
  tenant('one', 'one'),
  ...['acme', 'racer', 'one'].flatMap(everybody),
]

let service: TestedService
let receiver: Receiver
beforeAll(async () => {
  // One slot, beside the one that is for sync renders alone.
  const settings = { PLATEN_RENDER_SLOTS: '1', PLATEN_LOG_LEVEL: 'debug' }
  service = await startService({ ...LOOPBACK_ALLOWED, ...settings }, manifestOf(DOCUMENTS))
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(async () => {
  receiver = ofTest(await aReceiver())
})

const remove = (id: string, secret = ACME) =>
  request(service, { key: secret, path: `/api/v1/render/${id}`, method: 'DELETE' })
const asked = (id: string, secret = ACME) => request(service, { key: secret, path: `/api/v1/render/${id}` })

/** What an answer says, to compare it. */
function seen(answer: RenderAnswer): unknown {
  const { status, body } = answer
  if (body.length === 0) return status
  const said = answer.json()
  return status === 410 ? [status, (said['error'] as { code: string }).code] : [status, said]
}

/** Starts a render that ends only with its deadline. Resolves when it runs. */
async function running(body: object, secret = ACME): Promise<string> {
  const id = await submit(service, secret, { ...body, webhook_url: receiver.url })
  await reaches(service, { key: secret, id, states: ['running'] })
  return id
}

/** The one event of a render that its receiver is told. */
async function receivedEvent(id: string): Promise<Record<string, unknown>> {
  const mine = () => receiver.received.map(({ body }) => JSON.parse(body)).filter(({ render_id }) => render_id === id)
  return (await poll(mine).until((events) => events.length > 0))[0]
}

function expectCanceled(answer: RenderAnswer, id: string): void {
  expect([answer.status, answer.json()]).toMatchObject([
    200,
    { render_id: id, status: 'failed', error: { code: 'canceled', reason: 'canceled' } },
  ])
}

describe.for(['react_pdf', 'html'] as const)('a render that %s runs', (engine) => {
  test('is ended, its slot is free, its receiver is told, and a repetition says the same', async () => {
    const id = await running(ENDLESS[engine])
    const next = await submit(service, ACME, ENDLESS[engine])
    const answer = await remove(id)
    expectCanceled(answer, id)
    expect(seen(await asked(id))).toEqual([200, answer.json()])
    expect(seen(await remove(id))).toEqual([200, answer.json()])
    await reaches(service, { key: ACME, id: next, states: ['running'] })
    expectCanceled(await remove(next), next)
    expect(await receivedEvent(id)).toMatchObject({
      status: 'failed',
      error_code: 'canceled',
      error_reason: 'canceled',
    })
    expect(receiver.received[0]?.headers['x-service-event']).toBe('render.failed')
  })

  test('is ended under its sync caller, who is told why', async () => {
    const begun = () => startedIn(service.log())
    const before = new Set(begun())
    const answering = render(service, ACME, { ...ENDLESS[engine], mode: 'sync' })
    const ids = await poll(() => begun().filter((id) => !before.has(id))).until(({ length }) => length > 0)
    const id = String(ids[0])
    expectCanceled(await remove(id), id)
    const answer = await answering
    expect([answer.status, answer.json()]).toMatchObject([
      500,
      { error: { code: 'INTERNAL_ERROR', reason: 'canceled' } },
    ])
    expect(answer.headers.get('x-service-render-id')).toBe(id)
    expectCanceled(await asked(id), id)
  })
})

/** The ids of the renders whose work has begun. */
function startedIn(log: string): readonly string[] {
  const lines = log.split('\n').filter((line) => line.includes('render started'))
  return lines.map((line) => String(JSON.parse(line.slice(line.indexOf('{'))).render))
}

describe('a render that waits', () => {
  let holder: string
  beforeEach(async () => {
    holder = await running(ENDLESS.react_pdf)
  })

  test('is canceled at once and free, and stays so when the service is killed; its receiver is told in its turn', async () => {
    const body = { ...LETTER, webhook_url: receiver.url }
    const id = await submit(service, ONE, body)
    expect((await render(service, ONE, { ...LETTER, mode: 'async' })).status).toBe(402)
    const answer = await remove(id, ONE)
    expectCanceled(answer, id)
    expect(answer.json()['template']).toBe('letter')
    const second = await submit(service, ONE, body)
    await service.kill()
    await service.start()
    expect(seen(await asked(id, ONE))).toEqual([200, answer.json()])
    await reaches(service, { key: ACME, id: holder, states: ['running'] })
    await remove(holder)
    expect(await receivedEvent(id)).toMatchObject({ status: 'failed', template: 'letter', error_code: 'canceled' })
    expect(await receivedEvent(second)).toMatchObject({ status: 'succeeded' })
    expect(seen(await asked(id, ONE))).toEqual([200, answer.json()])
  })

  test('frees its Idempotency-Key: the same request makes another render', async () => {
    const send = () =>
      request(service, { key: ACME, body: { ...LETTER, mode: 'async' }, headers: { 'idempotency-key': 'again' } })
    const first = String((await send()).json()['render_id'])
    expect((await send()).json()['render_id']).toBe(first)
    await remove(first)
    const second = String((await send()).json()['render_id'])
    expect(second).not.toBe(first)
    await remove(holder)
    expect(await reaches(service, { key: ACME, id: second, states: ['succeeded'] })).toMatchObject({
      render_id: second,
    })
    expectCanceled(await asked(first), first)
  })

  test('is not canceled by others', async () => {
    const id = await submit(service, ACME, LETTER)
    expect((await remove(id, ONE)).json()).toMatchObject({ error: { code: 'RENDER_NOT_FOUND' } })
    await remove(holder)
    await reaches(service, { key: ACME, id, states: ['succeeded'] })
  })
})

describe('a render that has ended', () => {
  test('loses its PDF, and its receiver is told nevertheless', async () => {
    const id = await submit(service, ACME, { ...LETTER, webhook_url: receiver.url })
    const { pdf_url: url } = await reaches(service, { key: ACME, id, states: ['succeeded'] })
    expect((await fetch(String(url))).status).toBe(200)
    expect(seen(await remove(id))).toBe(204)
    expect([404, 410]).toContain((await fetch(String(url))).status)
    for (const answer of [await asked(id), await remove(id)]) expect(seen(answer)).toEqual([410, 'RENDER_EXPIRED'])
    expect(await receivedEvent(id)).toMatchObject({ status: 'succeeded' })
  })

  test('cannot be had for nothing by the caller of a sync render who has its PDF', async () => {
    const answer = await render(service, ACME, LETTER)
    expect(answer.status).toBe(200)
    const id = String(answer.headers.get('x-service-render-id'))
    expect([204, 410]).toContain((await remove(id)).status)
    expect(seen(await asked(id))).toEqual([410, 'RENDER_EXPIRED'])
  })
})

describe('raced against its own success from fifty sides', () => {
  const random = seeded(SEED)

  const slow = { ...LETTER, data: { rounds: 2_000_000 } }

  /** How long a render takes here and now, as its caller sees it. */
  async function renderMs(): Promise<number> {
    const begunAt = performance.now()
    await reaches(service, { key: RACER, id: await submit(service, RACER, slow), states: ['succeeded'] })
    return performance.now() - begunAt
  }

  /** Runs a race, whose end is about that of the render. Resolves to whether that succeeded, if every observer agrees. */
  async function race(typicalMs: number): Promise<boolean> {
    const id = await submit(service, RACER, { ...slow, webhook_url: receiver.url })
    await sleep(typicalMs * random() * 1.5)
    const answers = await Promise.all(
      Array.from({ length: SIDES }, async () => {
        await sleep(random() * 100)
        return seen(await remove(id, RACER))
      }),
    )
    const event = await receivedEvent(id)
    const status = await asked(id, RACER)
    if (event['status'] === 'succeeded') {
      expect(seen(status)).toEqual([410, 'RENDER_EXPIRED'])
      for (const answer of answers) expect([204, [410, 'RENDER_EXPIRED']]).toContainEqual(answer)
      expect(answers).toContain(204)
      return true
    }
    expect(event).toMatchObject({ status: 'failed', error_code: 'canceled' })
    expectCanceled(status, id)
    for (const answer of answers) expect(answer).toEqual([200, status.json()])
    return false
  }

  test('a render has one outcome for its status, its receiver, its PDF and its charge', async () => {
    const typicalMs = await renderMs()
    let succeeded = 1
    for (let races = 0; races < RACES; races += 2) {
      // Two, so that one of them waits for the slot at first.
      for (const hasSucceeded of await Promise.all([race(typicalMs), race(typicalMs)]))
        succeeded += hasSucceeded ? 1 : 0
    }
    const left = 2 * RACES - succeeded
    for (let unit = 0; unit < left; unit++) expect((await render(service, RACER, LETTER)).status).toBe(200)
    expect((await render(service, RACER, LETTER)).status).toBe(402)
    const idsOf = new Map<string, Set<unknown>>()
    for (const { headers, body } of receiver.received) {
      const { render_id: id } = JSON.parse(body)
      idsOf.set(id, (idsOf.get(id) ?? new Set()).add(headers['x-service-delivery']))
    }
    expect([...idsOf.values()].map(({ size }) => size)).toEqual(Array.from({ length: RACES }, () => 1))
  })
})
