/** What Prometheus gets of a running service. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ACME_LIVE, invoice } from '../fixture/manifests.ts'
import { type EmbeddedService, startEmbedded } from '../topology/embedded.ts'
import { answering, aReceiver, LOOPBACK_ALLOWED, type Receiver } from '../topology/receiver.ts'
import { eventually, submit } from '../topology/service.ts'

let service: EmbeddedService
let receiver: Receiver
beforeAll(async () => {
  const settings = { PLATEN_METRICS_PORT: '0', PLATEN_WEBHOOK_RETRIES: '0', PLATEN_CHROMIUM: 'none' }
  service = await startEmbedded({ ...LOOPBACK_ALLOWED, ...settings })
  receiver = await aReceiver()
})
afterAll(async () => {
  await receiver[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

function metricsUrl(path = '/metrics'): string {
  const port = /"port":(\d+)\},"msg":"metrics served"/.exec(service.log())?.[1]
  return `http://127.0.0.1:${port}${path}`
}

async function scraped(): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch(metricsUrl())
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

test('webhooks are counted by how they went, from zero on', async () => {
  const before = await scraped()
  expect(before.get('platen_webhook_attempts_total{result="timeout"}')).toBe(0)
  expect(before.get('platen_webhook_deliveries_ended_total{status="exhausted"}')).toBe(0)
  const told = { template: 'invoice', data: invoice(1), webhook_url: receiver.url }
  await submit(service, ACME_LIVE, told)
  await receiver.until(1)
  receiver.answer(answering(500))
  await submit(service, ACME_LIVE, told)
  const after = await eventually(
    scraped,
    (now) => now.get('platen_webhook_deliveries_ended_total{status="exhausted"}') === 1,
  )
  expect(after.get('platen_webhook_deliveries_ended_total{status="delivered"}')).toBe(1)
  expect(after.get('platen_webhook_attempts_total{result="ok"}')).toBe(1)
  expect(after.get('platen_webhook_attempts_total{result="status"}')).toBe(1)
  expect(after.get('platen_webhook_attempt_duration_seconds_count')).toBe(2)
  expect(after.get('platen_webhook_due_lag_seconds_count')).toBe(2)
  expect(after.get('process_cpu_seconds_total')).toBeGreaterThan(0)
})

test('nothing else is served on their port, and they are not served on that of the API', async () => {
  expect((await fetch(metricsUrl('/api/v1/templates'))).status).toBe(404)
  expect((await fetch(metricsUrl(), { method: 'POST' })).status).toBe(404)
  expect((await fetch(`${service.url()}/metrics`)).status).toBe(404)
})

test('no label names a tenant, a host or an id', async () => {
  const names = [...(await scraped()).keys()].filter((name) => name.startsWith('platen_'))
  expect(names.filter((name) => /acme|127\.0\.0\.1|[0-9a-f]{8}-/.test(name))).toEqual([])
})
