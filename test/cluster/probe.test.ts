/** What orchestrators are told by each process while it serves, while what it depends on is away, and while it drains. */
import { expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { expectDocumented } from '../monitoring/documented.ts'
import { expectHeldLoopReported } from '../time/hold-loop.ts'
import { poll } from '../time/poll.ts'
import type { Deployable } from '../topology/cluster/cluster.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import { render, request, submit } from '../topology/service.ts'
import { aCluster, aTenant } from './harness.ts'

const LIVE = `service_live_${'L'.repeat(43)}`
const ENDLESS = { template: 'letter', data: { isEndless: true } }
/** Long enough for a drain to be looked at. */
const DEADLINE_S = 6

const cluster = shared(() => {
  const documents = aTenant('acme', LIVE, { renderTimeoutSeconds: DEADLINE_S })
  const settings = { ...LOOPBACK_ALLOWED, PLATEN_TENANT_METRICS: '*' }
  return aCluster({ documents, settings })
})

function processOf(name: Deployable) {
  const [process] = cluster().processes(name)
  if (process === undefined) throw new Error(`there is no process of ${name}`)
  return process
}

async function ask(name: Deployable, path: string) {
  const [, port] = processOf(name).ports
  const answer = await fetch(`http://127.0.0.1:${port}${path}`)
  return { status: answer.status, body: await answer.text() }
}

async function readiness(name: Deployable): Promise<{ status: number; detail: unknown }> {
  const { status, body } = await ask(name, '/readyz')
  return { status, detail: JSON.parse(body).detail }
}

const BEGUN_AT = Date.now()
/** Where nothing was published before, it is the time. */
const PUBLISHED = expect.toSatisfy((revision: number) => revision >= BEGUN_AT && revision <= Date.now())
const DIRECTORY = expect.objectContaining({ isReady: true, isConnected: true, revision: PUBLISHED, damaged: 0 })

test.for<[Deployable, object, string]>([
  ['api', { directory: DIRECTORY, apis: 1 }, 'platen_directory_connected 1'],
  ['renderer', { directory: DIRECTORY, engines: { react_pdf: 'running' } }, 'platen_slots{engine="react_pdf"} 3'],
  ['events', { directory: DIRECTORY, canSign: true }, 'platen_webhook_deliveries_ended_total{status="delivered"} 0'],
])('%s says that it is alive and ready, and what it counts', async ([name, detail, line]) => {
  expect(await ask(name, '/livez')).toEqual({ status: 200, body: '{"alive":true}' })
  expect(await readiness(name)).toEqual({ status: 200, detail })
  const metrics = await ask(name, '/metrics')
  expect(metrics.status).toBe(200)
  expect(metrics.body.split('\n')).toContain(line)
  expect(metrics.body).toContain(`deployable="${name}"`)
})

test.for<Deployable>(['api', 'renderer', 'events'])('%s counts what is documented of it', async (name) => {
  expectDocumented(name, (await ask(name, '/metrics')).body)
})

test('events tell what waits in the queue', async () => {
  const scrape = async () => (await ask('events', '/metrics')).body.split('\n')
  const isReported = (lines: readonly string[]) =>
    lines.includes('platen_queue_lag_renders{engine="react_pdf",lane="async"} 0') &&
    lines.includes('platen_queue_oldest_seconds{engine="html",lane="sync"} 0') &&
    lines.includes('platen_event_lag_events{reader="projection"} 0') &&
    lines.includes('platen_webhook_backlog_deliveries{waits_for="time"} 0')
  await poll(scrape).until(isReported)
})

test.for<Deployable>(['api', 'renderer', 'events'])('%s tells for how long its event loop was held', async (name) => {
  const process = processOf(name)
  await expectHeldLoopReported(process, async () => (await ask(name, '/metrics')).body)
})

test('an API process without Redis says so, stays ready and tells what is published', async () => {
  const service = cluster().at(0)
  const isConnected = (wanted: boolean) => (answer: { detail: unknown }) =>
    (answer.detail as { directory: { isConnected: boolean } }).directory.isConnected === wanted
  await cluster().redis.kill()
  try {
    const away = await poll(() => readiness('api')).until(isConnected(false))
    expect(away).toEqual({
      status: 200,
      detail: {
        directory: expect.objectContaining({ isReady: true, revision: PUBLISHED, reason: expect.any(String) }),
        apis: 1,
      },
    })
    expect((await ask('api', '/livez')).status).toBe(200)
    const linesOf = async () => (await ask('api', '/metrics')).body.split('\n')
    const metrics = await poll(linesOf).until((lines) => lines.includes('platen_dependency_up{dependency="redis"} 0'))
    expect(metrics).toContain('platen_directory_connected 0')
    const templates = await request(service, { key: LIVE, path: '/api/v1/templates' })
    expect([templates.status, templates.json()]).toMatchObject([200, { templates: [{ code: 'letter' }] }])
    expect((await render(service, LIVE, { template: 'letter', data: {}, mode: 'async' })).status).toBe(202)
    // One line when it went, however much was asked for since.
    const lines = processOf('api')
      .log()
      .split('\n')
      .filter((line) => line.includes('redis unavailable'))
    expect(lines).toHaveLength(1)
  } finally {
    await cluster().redis.start()
  }
  await poll(() => readiness('api')).until(isConnected(true))
  const served = () => render(service, LIVE, { template: 'letter', data: {} })
  expect((await poll(served).until(({ status }) => status === 200)).status).toBe(200)
})

test('each process that drains is alive and not ready, and ends with 0 when what it has in hand is done', async () => {
  const service = cluster().at(0)
  await using receiver = await aReceiver()
  const called = Promise.withResolvers<() => void>()
  receiver.answer((_request, response) => called.resolve(() => response.writeHead(204).end()))
  // One in the hands of each: a call that nobody answers, a render that does not end, and its caller.
  await submit(service, LIVE, { template: 'letter', data: {}, webhook_url: receiver.url })
  const answerCall = await called.promise
  const waiting = render(service, LIVE, ENDLESS)
  await poll(async () => (await ask('renderer', '/metrics')).body).until(busy)
  const names = ['api', 'renderer', 'events'] as const
  const stopping = names.map((name) => processOf(name).stop())
  // All at once: they end with the render.
  const look = async (name: Deployable) => {
    await poll(() => readiness(name)).until(({ status }) => status === 503)
    expect((await ask(name, '/livez')).status).toBe(200)
    expect((await ask(name, '/metrics')).status).toBe(200)
  }
  await Promise.all(names.map(look))
  answerCall()
  const answer = await waiting
  expect([answer.status, answer.json()]).toMatchObject([
    500,
    { error: { message: expect.stringContaining('render_timeout') } },
  ])
  expect(await Promise.all(stopping)).toEqual([0, 0, 0])
})

function busy(metrics: string): boolean {
  return metrics.split('\n').includes('platen_slots_busy{engine="react_pdf"} 1')
}
