import { expect, test } from 'vitest'
import { NOON, openedMetrics } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { dependencyMeters } from './dependency.ts'
import { gaugeKeyExpiry, operatorMeter } from './operator.ts'
import type { Metrics } from './registry.ts'

function anOperatorMeter(metrics: Metrics) {
  const clock = manualClock(NOON)
  const dependencies = dependencyMeters(metrics, clock)
  return operatorMeter(metrics, { kinds: ['Tenant'], lease: 'platen', host: '10.96.0.1:443', dependencies, clock })
}

test('controllers are distinguished, each with its queue as it is when it is scraped', async () => {
  const { metrics } = openedMetrics()
  const meter = anOperatorMeter(metrics)
  let runningMs = [3000, 500]
  const tenant = meter.controller('tenant', {
    workers: 4,
    readState: () => ({ waiting: { live: 2, resync: 7 }, runningMs }),
  })
  meter.controller('plan', { workers: 1, readState: () => ({ waiting: { live: 0, resync: 0 }, runningMs: [] }) })
  const seriesOf = async (controller: string, of: RegExp) =>
    (await metrics.text()).split('\n').filter((line) => of.test(line) && line.includes(`controller="${controller}"`))
  const queue = /^workqueue_(depth|unfinished_work_seconds|longest_running_processor_seconds)\{/
  const labels = 'name="tenant",controller="tenant"'
  expect(await seriesOf('tenant', queue)).toEqual([
    `workqueue_unfinished_work_seconds{${labels}} 3.5`,
    `workqueue_longest_running_processor_seconds{${labels}} 3`,
    `workqueue_depth{${labels},priority="live"} 2`,
    `workqueue_depth{${labels},priority="resync"} 7`,
  ])
  runningMs = []
  expect((await seriesOf('tenant', queue)).slice(0, 2)).toEqual([
    `workqueue_unfinished_work_seconds{${labels}} 0`,
    `workqueue_longest_running_processor_seconds{${labels}} 0`,
  ])
  {
    using _busy = tenant.busy()
    expect(await seriesOf('tenant', /^controller_runtime_active_workers/)).toEqual([
      'controller_runtime_active_workers{controller="tenant"} 1',
    ])
  }
  tenant.reconciled('error', 10)
  tenant.reconciled('success', 10)
  const ended = /^controller_runtime_(reconcile_total|.*errors_total|active_workers|max)/
  expect(await seriesOf('tenant', ended)).toEqual([
    'controller_runtime_reconcile_total{controller="tenant",result="success"} 1',
    'controller_runtime_reconcile_total{controller="tenant",result="requeue_after"} 0',
    'controller_runtime_reconcile_total{controller="tenant",result="error"} 1',
    'controller_runtime_reconcile_errors_total{controller="tenant"} 1',
    'controller_runtime_max_concurrent_reconciles{controller="tenant"} 4',
    'controller_runtime_active_workers{controller="tenant"} 0',
  ])
  expect((await seriesOf('plan', ended)).filter((line) => !line.endsWith(' 0'))).toEqual([
    'controller_runtime_max_concurrent_reconciles{controller="plan"} 1',
  ])
})

test('a request to the API server is a call of it, and one without an answer means that it is away', async () => {
  const { metrics, seriesOf } = openedMetrics()
  const meter = anOperatorMeter(metrics)
  meter.requested('PATCH', '409', 20)
  expect(await seriesOf('dependency_(up|calls_total)')).toEqual([
    'platen_dependency_up{dependency="kubernetes"} 1',
    'platen_dependency_calls_total{dependency="kubernetes",operation="patch",result="ok"} 1',
  ])
  meter.requested('GET', '<error>', 20)
  expect(await seriesOf('dependency_up')).toEqual([])
  meter.published()
  expect(await seriesOf('operator_last_publish')).toEqual([
    `platen_operator_last_publish_timestamp_seconds ${NOON / 1000}`,
  ])
})

test('keys that expire soon are counted, and neither those that have nor those that do later', async () => {
  const { metrics, seriesOf } = openedMetrics()
  const day = 24 * 3600 * 1000
  gaugeKeyExpiry(metrics, { clock: manualClock(NOON), ends: () => [-1, 1, 7, 8].map((days) => NOON + days * day) })
  expect(await seriesOf('api_keys_expiring')).toEqual(['platen_api_keys_expiring 2'])
})
