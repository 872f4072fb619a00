import { manualClock } from '@platen/adapters/memory/clock.ts'
import type { Outcome } from '@platen/contract/render.ts'
import type { TemplateCode } from '@platen/contract/tenant.ts'
import { expect, test } from 'vitest'
import { aFailure, aRecord, CERTIFICATE, CERTIFICATE_SOONER, NOON } from '../../../test/fixture/build.ts'
import { apiMeter } from './api.ts'
import { gaugeCertificates } from './connection.ts'
import { openMetrics } from './metrics.ts'
import { gaugeKeyExpiry, operatorMeter } from './operator.ts'
import { type Backlog, gaugeQueue } from './queue.ts'
import { rendererMeter } from './renderer.ts'
import { webhookMeter } from './webhook.ts'

const { tenant, template, environment } = aRecord()
const HTML = { engine: 'html', lane: 'bulk', tenant, template, environment } as const

function opened() {
  const metrics = openMetrics({ isRead: false, deployable: 'renderer' })
  const told = async (name: string) =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith(`platen_${name}`) && !line.endsWith(' 0'))
  return { metrics, told }
}

test('a build says its version and what it is', async () => {
  expect(await opened().told('build_info')).toEqual([
    expect.stringMatching(/^platen_build_info\{version="\d+\.\d+\.\d+",deployable="renderer"\} 1$/),
  ])
})

test('what depends on the moment is looked at for each scrape, and a queue that cannot be looked at is told no more', async () => {
  const { metrics, told } = opened()
  let seen: readonly Backlog[] = [{ engine: 'html', lane: 'sync', renders: 3, oldestMs: 1500 }]
  let directory = { isReady: true, revision: 7, isConnected: true, ageMs: 1500, damaged: 0 }
  gaugeQueue(metrics, () => seen)
  apiMeter(metrics, { directory: () => directory })
  expect(await told('queue_')).toEqual([
    'platen_queue_lag_renders{engine="html",lane="sync"} 3',
    'platen_queue_oldest_seconds{engine="html",lane="sync"} 1.5',
  ])
  expect(await told('directory_')).toEqual([
    'platen_directory_revision 7',
    'platen_directory_connected 1',
    'platen_directory_age_seconds 1.5',
  ])
  seen = []
  directory = { isReady: true, revision: 8, isConnected: false, ageMs: 2000, damaged: 2 }
  expect(await told('queue_')).toEqual([])
  expect(await told('directory_')).toEqual([
    'platen_directory_revision 8',
    'platen_directory_age_seconds 2',
    'platen_directory_damaged_values_total 2',
  ])
})

test('a path is a label only where it is a route, and so is its method', async () => {
  const { metrics, told } = opened()
  const meter = apiMeter(metrics, {
    directory: () => ({ isReady: true, revision: 1, isConnected: true, ageMs: 0, damaged: 0 }),
  })
  const answer = { status: 404, durationMs: 1 }
  meter.routed({ path: '/livez', method: 'GET' })
  meter.answered({ path: '/livez', method: 'GET' }, answer)
  for (const path of ['/livez', '/acme', undefined]) meter.answered({ path, method: 'PROPFIND' }, answer)
  expect(await told('http_requests_total')).toEqual([
    'platen_http_requests_total{route="none",method="other",status="4xx"} 3',
    'platen_http_requests_total{route="/livez",method="GET",status="4xx"} 1',
  ])
})

test('the wait in the queue is that of the first attempt, and others are retries', async () => {
  const { metrics, told } = opened()
  const meter = rendererMeter(metrics, { countsTenants: false })
  // Clocks of two machines may differ.
  meter.begun(HTML, { attempt: 1, waitedMs: -20 })
  meter.begun(HTML, { attempt: 1, waitedMs: 2000 })
  meter.begun(HTML, { attempt: 2, waitedMs: 9000 })
  expect(await told('queue_wait_seconds_count')).toEqual(['platen_queue_wait_seconds_count{lane="bulk"} 2'])
  expect(await told('queue_wait_seconds_sum')).toEqual(['platen_queue_wait_seconds_sum{lane="bulk"} 2'])
  expect(await told('render_retries_total')).toEqual(['platen_render_retries_total{engine="html"} 1'])
})

test('a render that never began has an end and no duration', async () => {
  const { metrics, told } = opened()
  const meter = rendererMeter(metrics, { countsTenants: false })
  const ended: readonly Outcome[] = [aFailure({ durationMs: 80 }), aFailure({ durationMs: 0 })]
  for (const outcome of ended) meter.ended(HTML, outcome)
  expect(await told('renders_ended_total')).toEqual([
    'platen_renders_ended_total{engine="html",lane="bulk",outcome="template_error"} 2',
  ])
  expect(await told('render_duration_seconds_count')).toEqual(['platen_render_duration_seconds_count{engine="html"} 1'])
})

test('a slot is busy until it is free', async () => {
  const { metrics, told } = opened()
  const meter = rendererMeter(metrics, { countsTenants: false })
  meter.serving('html', 3)
  {
    using _first = meter.busy('html')
    using _second = meter.busy('html')
    expect(await told('slots')).toEqual(['platen_slots{engine="html"} 3', 'platen_slots_busy{engine="html"} 2'])
  }
  expect(await told('slots_busy')).toEqual([])
})

test('every series is at zero before anything happens', async () => {
  const { metrics } = opened()
  const meter = rendererMeter(metrics, { countsTenants: false })
  const before = (await metrics.text()).split('\n').length
  meter.deadLettered('crashed')
  meter.begun(HTML, { attempt: 1, waitedMs: 1 })
  meter.begun(HTML, { attempt: 2, waitedMs: 1 })
  meter.ended(HTML, aFailure())
  meter.serving('html', 1)
  expect((await metrics.text()).split('\n')).toHaveLength(before)
})

test('controllers are told apart, each with its queue as it is when it is scraped', async () => {
  const { metrics } = opened()
  const meter = operatorMeter(metrics, { kinds: ['Tenant'], lease: 'platen' })
  let runningMs = [3000, 500]
  const tenant = meter.controller('tenant', {
    workers: 4,
    readState: () => ({ waiting: { live: 2, resync: 7 }, runningMs }),
  })
  meter.controller('plan', { workers: 1, readState: () => ({ waiting: { live: 0, resync: 0 }, runningMs: [] }) })
  const told = async (controller: string, of: RegExp) =>
    (await metrics.text()).split('\n').filter((line) => of.test(line) && line.includes(`controller="${controller}"`))
  const queue = /^workqueue_(depth|unfinished_work_seconds|longest_running_processor_seconds)\{/
  const labels = 'name="tenant",controller="tenant"'
  expect(await told('tenant', queue)).toEqual([
    `workqueue_unfinished_work_seconds{${labels}} 3.5`,
    `workqueue_longest_running_processor_seconds{${labels}} 3`,
    `workqueue_depth{${labels},priority="live"} 2`,
    `workqueue_depth{${labels},priority="resync"} 7`,
  ])
  runningMs = []
  expect((await told('tenant', queue)).slice(0, 2)).toEqual([
    `workqueue_unfinished_work_seconds{${labels}} 0`,
    `workqueue_longest_running_processor_seconds{${labels}} 0`,
  ])
  {
    using _busy = tenant.busy()
    expect(await told('tenant', /^controller_runtime_active_workers/)).toEqual([
      'controller_runtime_active_workers{controller="tenant"} 1',
    ])
  }
  tenant.reconciled('error', 10)
  tenant.failedTerminally()
  tenant.reconciled('success', 10)
  const ended = /^controller_runtime_(reconcile_total|.*errors_total|active_workers|max)/
  expect(await told('tenant', ended)).toEqual([
    'controller_runtime_reconcile_total{controller="tenant",result="success"} 1',
    'controller_runtime_reconcile_total{controller="tenant",result="requeue_after"} 0',
    'controller_runtime_reconcile_total{controller="tenant",result="error"} 1',
    'controller_runtime_reconcile_errors_total{controller="tenant"} 1',
    'controller_runtime_terminal_reconcile_errors_total{controller="tenant"} 1',
    'controller_runtime_max_concurrent_reconciles{controller="tenant"} 4',
    'controller_runtime_active_workers{controller="tenant"} 0',
  ])
  expect((await told('plan', ended)).filter((line) => !line.endsWith(' 0'))).toEqual([
    'controller_runtime_max_concurrent_reconciles{controller="plan"} 1',
  ])
})

test('a refusal is counted by who can fix it', async () => {
  const { metrics, told } = opened()
  const meter = apiMeter(metrics, {
    directory: () => ({ isReady: true, revision: 1, isConnected: true, ageMs: 0, damaged: 0 }),
  })
  meter.refused({ code: 'INTERNAL_ERROR', fault: 'tenant' })
  expect(await told('requests_refused')).toEqual([
    'platen_requests_refused_total{code="INTERNAL_ERROR",fault="tenant"} 1',
  ])
})

test('renders are counted by tenant and template where that is asked for, and not beyond a thousand', async () => {
  const { metrics, told } = opened()
  const meter = rendererMeter(metrics, { countsTenants: true })
  meter.ended(HTML, aFailure())
  for (let index = 1; index < 1002; index++) {
    meter.ended({ ...HTML, template: { ...template, code: `t${index}` as TemplateCode } }, aFailure())
  }
  const series = await told('tenant_renders_total')
  const labels = `environment="${environment}",outcome="template_error"`
  expect(series).toHaveLength(1001)
  expect(series[0]).toBe(`platen_tenant_renders_total{tenant="${tenant}",template="${template.code}",${labels}} 1`)
  expect(series.at(-1)).toBe(`platen_tenant_renders_total{tenant="other",template="other",${labels}} 2`)
})

test('keys that expire soon are counted, and neither those that have nor those that do later', async () => {
  const { metrics, told } = opened()
  const day = 24 * 3600 * 1000
  gaugeKeyExpiry(metrics, { clock: manualClock(NOON), ends: () => [-1, 1, 7, 8].map((days) => NOON + days * day) })
  expect(await told('api_keys_expiring')).toEqual(['platen_api_keys_expiring 2'])
})

test('deliveries that are put off are counted by why', async () => {
  const { metrics, told } = opened()
  const meter = webhookMeter(metrics)
  meter.deferred('secret_missing')
  meter.deadLettered('delivery')
  expect(await told('webhook_deferrals')).toEqual(['platen_webhook_deferrals_total{reason="secret_missing"} 1'])
  expect(await told('webhook_dead')).toEqual(['platen_webhook_dead_letters_total{record="delivery"} 1'])
})

test('certificates are told by the first that expires, as they are now, and those that are not set are not', async () => {
  const { metrics, told } = opened()
  let kafka = { ca: CERTIFICATE, cert: CERTIFICATE_SOONER }
  gaugeCertificates(metrics, () => ({ kafka, redis: undefined }))
  const end = Date.UTC(2029, 4, 12, 0, 20, 13) / 1000
  expect(await told('certificate')).toEqual([`platen_certificate_expiry_timestamp_seconds{vouches_for="kafka"} ${end}`])
  kafka = { ca: CERTIFICATE, cert: CERTIFICATE }
  expect(await told('certificate')).not.toEqual([expect.stringContaining(`${end}`)])
})
