import type { Outcome } from '@platen/contract/render.ts'
import { expect, test } from 'vitest'
import { aFailure } from '../../../test/fixture/build.ts'
import { apiMeter } from './api.ts'
import { openMetrics } from './metrics.ts'
import { operatorMeter } from './operator.ts'
import { rendererMeter, type TopicLag } from './renderer.ts'

const HTML = { engine: 'html', lane: 'bulk' } as const

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

test('what depends on the moment is looked at for each scrape, and a topic that was left is told no more', async () => {
  const { metrics, told } = opened()
  let lag: readonly TopicLag[] = [{ topic: 'render.html.sync', lag: 3 }]
  let directory = { isReady: true, revision: 7, isConnected: true, ageMs: 1500, damaged: 0 }
  rendererMeter(metrics, { lag: () => lag })
  apiMeter(metrics, { directory: () => directory })
  expect(await told('queue_lag')).toEqual(['platen_queue_lag{topic="render.html.sync"} 3'])
  expect(await told('directory_')).toEqual([
    'platen_directory_revision 7',
    'platen_directory_connected 1',
    'platen_directory_age_seconds 1.5',
  ])
  lag = [{ topic: 'render.html.bulk', lag: 1 }]
  directory = { isReady: true, revision: 8, isConnected: false, ageMs: 2000, damaged: 2 }
  expect(await told('queue_lag')).toEqual(['platen_queue_lag{topic="render.html.bulk"} 1'])
  expect(await told('directory_')).toEqual([
    'platen_directory_revision 8',
    'platen_directory_age_seconds 2',
    'platen_directory_damaged_values 2',
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
  const meter = rendererMeter(metrics, { lag: () => [] })
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
  const meter = rendererMeter(metrics, { lag: () => [] })
  const ended: readonly Outcome[] = [aFailure({ durationMs: 80 }), aFailure({ durationMs: 0 })]
  for (const outcome of ended) meter.ended(HTML, outcome)
  expect(await told('renders_ended_total')).toEqual([
    'platen_renders_ended_total{engine="html",lane="bulk",outcome="template_error"} 2',
  ])
  expect(await told('render_duration_seconds_count')).toEqual(['platen_render_duration_seconds_count{engine="html"} 1'])
})

test('a slot is busy until it is free', async () => {
  const { metrics, told } = opened()
  const meter = rendererMeter(metrics, { lag: () => [] })
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
  const meter = rendererMeter(metrics, { lag: () => [] })
  const before = (await metrics.text()).split('\n').length
  meter.buried('crashed')
  meter.begun(HTML, { attempt: 1, waitedMs: 1 })
  meter.begun(HTML, { attempt: 2, waitedMs: 1 })
  meter.ended(HTML, aFailure())
  meter.serving('html', 1)
  expect((await metrics.text()).split('\n')).toHaveLength(before)
})

test('controllers are told apart, each with its queue as it is when it is scraped', async () => {
  const { metrics } = opened()
  const meter = operatorMeter(metrics, { kinds: ['Tenant'], lease: 'platen' })
  let inHandMs = [3000, 500]
  const tenant = meter.controller('tenant', { workers: 4, look: () => ({ waiting: { live: 2, resync: 7 }, inHandMs }) })
  meter.controller('plan', { workers: 1, look: () => ({ waiting: { live: 0, resync: 0 }, inHandMs: [] }) })
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
  inHandMs = []
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
  tenant.gaveUp()
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
