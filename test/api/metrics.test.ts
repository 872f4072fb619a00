/** What Prometheus gets of a running service. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { aCollector, exportingTo } from '../conformance/collector.ts'
import { shared } from '../fixture/lifetime.ts'
import { ACME_LIVE, ACME_TEST, invoice, PATIENT_LIVE } from '../fixture/manifests.ts'
import { expectHeldLoopReported } from '../time/hold-loop.ts'
import { poll } from '../time/poll.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { answering, aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import { render, request, submit } from '../topology/service.ts'

const collector = shared(aCollector)
const service = shared(() => {
  const settings = { PLATEN_METRICS_PORT: '0', PLATEN_CHROMIUM: 'none' }
  return startEmbedded({ ...LOOPBACK_ALLOWED, ...exportingTo(collector()), ...settings })
})
const receiver = shared(aReceiver)

function metricsUrl(path = '/metrics', of = service()): string {
  return `${of.probesUrl()}${path}`
}

/** By their names: counters, gauges and histograms. */
async function namesServed(): Promise<readonly string[]> {
  const text = await (await fetch(metricsUrl())).text()
  return [...text.matchAll(/^# TYPE (platen_\w+)/gm)].map(([, name = '']) => name)
}

async function scraped(of = service()): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch(metricsUrl('/metrics', of))
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

test('webhooks are counted by how they went, from zero on', async () => {
  const before = await scraped()
  expect(before.get('platen_webhook_attempts_total{result="timeout"}')).toBe(0)
  expect(before.get('platen_webhook_deliveries_ended_total{status="exhausted"}')).toBe(0)
  const withWebhook = { template: 'invoice', data: invoice(1), webhook_url: receiver().url }
  await submit(service(), ACME_LIVE, withWebhook)
  await receiver().until(1)
  receiver().answer(answering(500))
  // The webhook of a sync render is tried once.
  await render(service(), ACME_LIVE, { ...withWebhook, mode: 'sync' })
  const after = await poll(() => scraped()).until(
    (now) => now.get('platen_webhook_deliveries_ended_total{status="exhausted"}') === 1,
  )
  expect(after.get('platen_webhook_deliveries_ended_total{status="delivered"}')).toBe(1)
  expect(after.get('platen_webhook_attempts_total{result="ok"}')).toBe(1)
  expect(after.get('platen_webhook_attempts_total{result="status"}')).toBe(1)
  expect(after.get('platen_webhook_attempt_duration_seconds_count')).toBe(2)
  expect(after.get('platen_webhook_due_lag_seconds_count')).toBe(2)
  expect(after.get('process_cpu_seconds_total')).toBeGreaterThan(0)
})

test('a render is counted by what it was and how it ended, and by whoever waited for it', async () => {
  const before = await scraped()
  const series = {
    requests: 'platen_http_requests_total{route="/api/v1/render",method="POST",status="2xx"}',
    times: 'platen_http_request_duration_seconds_count{route="/api/v1/render",method="POST"}',
    accepted: 'platen_renders_accepted_total{engine="react_pdf",mode="sync",lane="sync"}',
    waits: 'platen_sync_wait_seconds_count',
    queued: 'platen_queue_wait_seconds_count{engine="react_pdf",lane="sync"}',
    succeeded: 'platen_renders_ended_total{engine="react_pdf",lane="sync",outcome="succeeded"}',
    failed: 'platen_renders_ended_total{engine="react_pdf",lane="async",outcome="template_error"}',
    rendered: 'platen_render_duration_seconds_count{engine="react_pdf"}',
    refused: 'platen_requests_refused_total{code="UNAUTHORIZED",fault="caller"}',
  }
  const more = async () => {
    const now = await scraped()
    return Object.fromEntries(
      Object.entries(series).map(([what, name]) => [what, (now.get(name) ?? Number.NaN) - (before.get(name) ?? 0)]),
    )
  }
  expect(await more()).toEqual(Object.fromEntries(Object.keys(series).map((what) => [what, 0])))
  expect((await render(service(), ACME_TEST, { template: 'invoice', data: invoice(1) })).status).toBe(200)
  await submit(service(), ACME_TEST, { template: 'broken', data: {} })
  expect((await render(service(), `${ACME_TEST.slice(0, -1)}x`, {})).status).toBe(401)
  // Renders are counted beside their answers, and answers when they have gone out.
  const isOver = ({ succeeded, failed, times }: Record<string, number>) =>
    succeeded === 1 && failed === 1 && times === 3
  expect(await poll(more).until(isOver)).toEqual({
    requests: 2,
    times: 3,
    accepted: 1,
    waits: 1,
    queued: 1,
    succeeded: 1,
    failed: 1,
    rendered: 2,
    refused: 1,
  })
  const after = await poll(() => scraped()).until((now) => now.get('platen_slots_busy{engine="react_pdf"}') === 0)
  expect(after.get('platen_sync_renders_waiting')).toBe(0)
  expect(after.get('platen_slots{engine="react_pdf"}')).toBeGreaterThan(1)
  expect(after.get('platen_directory_revision')).toBeGreaterThan(0)
  expect(after.get('platen_directory_connected')).toBe(1)
})

test('a sync render that fails by its template is told from a defect of the service', async () => {
  const series = (fault: string) => `platen_requests_refused_total{code="INTERNAL_ERROR",fault="${fault}"}`
  const before = await scraped()
  expect((await render(service(), ACME_TEST, { template: 'broken', data: {} })).status).toBe(500)
  const after = await scraped()
  const more = (fault: string) => (after.get(series(fault)) ?? Number.NaN) - (before.get(series(fault)) ?? 0)
  expect([more('tenant'), more('operator')]).toEqual([1, 0])
})

test('an event loop that was held is reported', async () => {
  const held = { pause: () => service().signal('SIGSTOP'), resume: () => service().signal('SIGCONT') }
  await expectHeldLoopReported(held, async () => (await fetch(metricsUrl())).text())
})

test('each is documented, and none is that is not there', async () => {
  const document = await readFile(new URL('../../docs/metrics.md', import.meta.url), 'utf8')
  const documented = [...document.matchAll(/^\| `(platen_\w+)` \| (?!operator |\w+ in a cluster)/gm)].map(
    ([, name = '']) => name,
  )
  expect([...(await namesServed())].toSorted()).toEqual(documented.toSorted())
})

test('health is told beside them, and what it is like there alone', async () => {
  const ask = async (url: string) => {
    const answer = await fetch(url)
    return [answer.status, await answer.json()]
  }
  for (const url of [service().url(), service().probesUrl()])
    expect(await ask(`${url}/livez`)).toEqual([200, { alive: true }])
  const detail = { engines: { react_pdf: 'running', html: 'missing' }, disk: 'ok' }
  expect(await ask(metricsUrl('/readyz'))).toEqual([200, { ready: true, detail }])
  expect(await ask(`${service().url()}/readyz`)).toEqual([200, { ready: true }])
})

test('nothing else is served on their port, and they are not served on that of the API', async () => {
  expect((await fetch(metricsUrl('/api/v1/templates'))).status).toBe(404)
  expect((await fetch(metricsUrl(), { method: 'POST' })).status).toBe(404)
  expect((await fetch(`${service().url()}/metrics`)).status).toBe(404)
})

test('no label names a tenant, a host or an id', async () => {
  const names = [...(await scraped()).keys()].filter((name) => name.startsWith('platen_'))
  expect(names.filter((name) => /acme|invoice|127\.0\.0\.1|[0-9a-f]{8}-/.test(name))).toEqual([])
})

test('a service that drains is alive, not ready, and shows its running work', async () => {
  await using draining = await startEmbedded({ PLATEN_METRICS_PORT: '0', PLATEN_CHROMIUM: 'none' })
  const caller = new AbortController()
  const endless = { template: 'busy', data: { rounds: 1e15 } }
  const answer = request(draining, { key: PATIENT_LIVE, body: endless, signal: caller.signal })
  const atWork = (seen: ReadonlyMap<string, number>) => seen.get('platen_slots_busy{engine="react_pdf"}') === 1
  await poll(() => scraped(draining)).until(atWork)
  expect((await fetch(metricsUrl('/readyz', draining))).status).toBe(200)
  const stopped = draining.stop()
  await poll(() => fetch(metricsUrl('/readyz', draining))).until(({ status }) => status === 503)
  expect((await fetch(metricsUrl('/livez', draining))).status).toBe(200)
  expect((await scraped(draining)).get('platen_sync_renders_waiting')).toBe(1)
  caller.abort()
  await expect(answer).rejects.toThrow('aborted')
  expect(await stopped).toBe(0)
})

test('histograms of durations name the trace of an example, for a scrape in OpenMetrics', async () => {
  const traceId = 'a'.repeat(32)
  receiver().answer(answering(204))
  const body = { template: 'invoice', data: invoice(1), mode: 'async', webhook_url: receiver().url }
  const headers = { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` }
  expect((await request(service(), { key: ACME_LIVE, body, headers })).status).toBe(202)
  const named = async () => {
    const answer = await fetch(metricsUrl(), { headers: { accept: 'application/openmetrics-text' } })
    const lines = (await answer.text()).split('\n').filter((line) => line.includes(`# {trace_id="${traceId}"}`))
    return lines.map((line) => /^platen_(\w+)_bucket\{/.exec(line)?.[1] ?? '')
  }
  const names = await poll(named).until((found) => found.length === 4)
  expect(names.toSorted()).toEqual([
    'http_request_duration_seconds',
    'queue_wait_seconds',
    'render_duration_seconds',
    'webhook_attempt_duration_seconds',
  ])
})
