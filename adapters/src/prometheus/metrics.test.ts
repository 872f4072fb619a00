import type { Backlog } from '@platen/contract/domain/backlog.ts'
import { planSpecSchema } from '@platen/contract/domain/crd/plan.ts'
import { QUEUE_AGE_MS_MAX } from '@platen/contract/domain/limit.ts'
import { LANES, type Outcome } from '@platen/contract/domain/render.ts'
import type { TemplateCode, TenantId } from '@platen/contract/domain/tenant.ts'
import { expect, test } from 'vitest'
import { aFailure, aManifest, aRecord, CERTIFICATE, CERTIFICATE_SOONER } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { apiMeter } from './api.ts'
import { dependencyMeters } from './dependency.ts'
import { gaugeCertificates } from './deployable/certificate.ts'
import { gaugeBacklog } from './event/backlog.ts'
import { webhookMeter } from './event/webhook.ts'
import { openMetrics } from './metrics.ts'
import type { Metrics } from './registry.ts'
import { rendererMeter } from './renderer.ts'

const { tenant, template, environment } = aRecord()
/** The longest deadline of a plan. */
const DEADLINE_S_MAX = planSpecSchema.properties.renderTimeoutSeconds.maximum
/** What a sync caller waits in addition, for a free slot and for the answer. */
const SYNC_WAIT_S = 13
/** Of a webhook receiver, and of a call of S3. */
const [ATTEMPT_S_MAX, CALL_S_MAX] = [10, 30]
const HTML = { engine: 'html', lane: 'bulk', tenant, template, environment } as const

function opened() {
  const metrics = openMetrics({ isRead: false, deployable: 'renderer' })
  const seriesOf = async (name: string) =>
    (await metrics.text())
      .split('\n')
      .filter((line) => new RegExp(`^platen_${name}`).test(line) && !line.endsWith(' 0'))
  return { metrics, seriesOf }
}

function aRendererMeter(metrics: Metrics, tenants: readonly string[] = []) {
  return rendererMeter(metrics, { tenants, dependencies: dependencyMeters(metrics, manualClock()) })
}

const aSlot = { slots: 1, lanes: LANES, saturation: () => 0, storing: () => 0 }

test('what depends on the moment is looked at for each scrape, and a queue that cannot be looked at is told no more', async () => {
  const { metrics, seriesOf } = opened()
  let seen: Backlog | undefined = {
    queues: [{ engine: 'html', lane: 'sync', renders: 3, oldestMs: 1500 }],
    readers: [{ name: 'projection', records: 4 }],
    deliveries: [{ name: 'time', records: 5 }],
  }
  let directory = { isReady: true, revision: 7, isConnected: true, ageMs: 1500, damaged: 0 }
  gaugeBacklog(metrics, () => seen)
  apiMeter(metrics, { directory: () => directory })
  expect(await seriesOf('(queue|event_lag|webhook_backlog)_')).toEqual([
    'platen_queue_lag_renders{engine="html",lane="sync"} 3',
    'platen_queue_oldest_seconds{engine="html",lane="sync"} 1.5',
    'platen_event_lag_events{reader="projection"} 4',
    'platen_webhook_backlog_deliveries{waits_for="time"} 5',
  ])
  expect(await seriesOf('directory_')).toEqual([
    'platen_directory_revision 7',
    'platen_directory_connected 1',
    'platen_directory_age_seconds 1.5',
  ])
  seen = undefined
  directory = { isReady: true, revision: 8, isConnected: false, ageMs: 2000, damaged: 2 }
  expect(await seriesOf('(queue|event_lag|webhook_backlog)_')).toEqual([])
  expect(await seriesOf('directory_')).toEqual([
    'platen_directory_revision 8',
    'platen_directory_age_seconds 2',
    'platen_directory_damaged_values_total 2',
  ])
})

test('a path is a label only where it is a route, and so is its method', async () => {
  const { metrics, seriesOf } = opened()
  const meter = apiMeter(metrics, {
    directory: () => ({ isReady: true, revision: 1, isConnected: true, ageMs: 0, damaged: 0 }),
  })
  const answer = { status: 404, durationMs: 1 }
  meter.routed({ path: '/livez', method: 'GET' })
  meter.answered({ path: '/livez', method: 'GET' }, answer)
  for (const path of ['/livez', '/acme', undefined]) meter.answered({ path, method: 'PROPFIND' }, answer)
  expect(await seriesOf('http_requests_total')).toEqual([
    'platen_http_requests_total{route="none",method="other",status="4xx"} 3',
    'platen_http_requests_total{route="/livez",method="GET",status="4xx"} 1',
  ])
})

test('the wait in the queue is that of the first attempt, and others are retries', async () => {
  const { metrics, seriesOf } = opened()
  const meter = aRendererMeter(metrics)
  // Clocks of two machines may differ.
  meter.begun(HTML, { attempt: 1, waitedMs: -20 })
  meter.begun(HTML, { attempt: 1, waitedMs: 2000 })
  meter.begun(HTML, { attempt: 2, waitedMs: 9000 })
  expect(await seriesOf('queue_wait_seconds_count')).toEqual([
    'platen_queue_wait_seconds_count{engine="html",lane="bulk"} 2',
  ])
  expect(await seriesOf('queue_wait_seconds_sum')).toEqual([
    'platen_queue_wait_seconds_sum{engine="html",lane="bulk"} 2',
  ])
  expect(await seriesOf('render_retries_total')).toEqual(['platen_render_retries_total{engine="html"} 1'])
})

test('a render that never began has an end and no duration', async () => {
  const { metrics, seriesOf } = opened()
  const meter = aRendererMeter(metrics)
  const ended: readonly Outcome[] = [aFailure({ durationMs: 80 }), aFailure({ durationMs: 0 })]
  for (const outcome of ended) meter.ended(HTML, outcome)
  expect(await seriesOf('renders_ended_total')).toEqual([
    'platen_renders_ended_total{engine="html",lane="bulk",outcome="template_error"} 2',
  ])
  expect(await seriesOf('render_duration_seconds_count')).toEqual([
    'platen_render_duration_seconds_count{engine="html"} 1',
  ])
})

test('a render counts once for each code that it was warned of, whether it succeeded or not', async () => {
  const { metrics, seriesOf } = opened()
  const meter = aRendererMeter(metrics)
  const warnings = (['text_overflow', 'text_overflow', 'missing_glyph'] as const).map((code) => ({ code, message: '' }))
  const { outcome } = aManifest()
  for (const ended of [{ ...outcome, warnings }, aFailure({ warnings }), outcome]) meter.ended(HTML, ended)
  expect(await seriesOf('render_warnings_total')).toEqual([
    'platen_render_warnings_total{engine="html",code="missing_glyph"} 2',
    'platen_render_warnings_total{engine="html",code="text_overflow"} 2',
  ])
})

test('a slot is busy until it is free', async () => {
  const { metrics, seriesOf } = opened()
  const meter = aRendererMeter(metrics)
  meter.serving('html', { slots: 3, lanes: ['async'], saturation: () => 0.5, storing: () => 2 })
  expect(await seriesOf('renders_storing')).toEqual(['platen_renders_storing{engine="html"} 2'])
  {
    using _first = meter.busy('html')
    using _second = meter.busy('html')
    expect(await seriesOf('slots')).toEqual([
      'platen_slots{engine="html"} 3',
      'platen_slots_busy{engine="html"} 2',
      'platen_slots_saturation_ratio{engine="html",lane="async"} 0.5',
    ])
  }
  expect(await seriesOf('slots_busy')).toEqual([])
})

test('every series is at zero before anything happens', async () => {
  const { metrics } = opened()
  const meter = aRendererMeter(metrics)
  // Which lanes are served is known once the engine is.
  meter.serving('html', aSlot)
  const before = (await metrics.text()).split('\n').length
  meter.deadLettered('crashed')
  meter.begun(HTML, { attempt: 1, waitedMs: 1 })
  meter.begun(HTML, { attempt: 2, waitedMs: 1 })
  meter.ended(HTML, aFailure())
  meter.serving('html', aSlot)
  expect((await metrics.text()).split('\n')).toHaveLength(before)
})

test('a refusal is counted by who can fix it', async () => {
  const { metrics, seriesOf } = opened()
  const meter = apiMeter(metrics, {
    directory: () => ({ isReady: true, revision: 1, isConnected: true, ageMs: 0, damaged: 0 }),
  })
  meter.refused({ code: 'INTERNAL_ERROR', fault: 'tenant' })
  expect(await seriesOf('requests_refused')).toEqual([
    'platen_requests_refused_total{code="INTERNAL_ERROR",fault="tenant"} 1',
  ])
})

test('renders are counted by tenant and template where that is asked for, and not beyond a thousand', async () => {
  const { metrics, seriesOf } = opened()
  const meter = aRendererMeter(metrics, ['*'])
  meter.ended(HTML, aFailure())
  for (let index = 1; index < 1002; index++) {
    meter.ended({ ...HTML, template: { ...template, code: `t${index}` as TemplateCode } }, aFailure())
  }
  const series = await seriesOf('tenant_renders_total')
  const labels = `environment="${environment}",outcome="template_error"`
  expect(series).toHaveLength(1001)
  expect(series[0]).toBe(`platen_tenant_renders_total{tenant="${tenant}",template="${template.code}",${labels}} 1`)
  expect(series.at(-1)).toBe(`platen_tenant_renders_total{tenant="other",template="other",${labels}} 2`)
})

test('only renders of tenants that are listed are counted by name', async () => {
  const { metrics, seriesOf } = opened()
  const meter = aRendererMeter(metrics, ['globex'])
  meter.ended(HTML, aFailure())
  meter.ended({ ...HTML, tenant: 'globex' as TenantId }, aFailure())
  const labels = `environment="${environment}",outcome="template_error"`
  expect(await seriesOf('tenant_renders_total')).toEqual([
    `platen_tenant_renders_total{tenant="other",template="other",${labels}} 1`,
    `platen_tenant_renders_total{tenant="globex",template="${template.code}",${labels}} 1`,
  ])
})

test('every histogram has a bucket at or above the time limit of what it measures', async () => {
  const { metrics } = opened()
  const dependencies = dependencyMeters(metrics, manualClock())
  dependencies.add('s3', () => true)
  rendererMeter(metrics, { tenants: [], dependencies })
  webhookMeter(metrics)
  apiMeter(metrics, { directory: () => ({ isReady: true, revision: 1, isConnected: true, ageMs: 0, damaged: 0 }) })
  const text = await metrics.text()
  const limits = {
    platen_render_duration_seconds: DEADLINE_S_MAX,
    platen_sync_wait_seconds: DEADLINE_S_MAX + SYNC_WAIT_S,
    platen_http_request_duration_seconds: DEADLINE_S_MAX + SYNC_WAIT_S,
    platen_queue_wait_seconds: QUEUE_AGE_MS_MAX / 1000,
    platen_webhook_attempt_duration_seconds: ATTEMPT_S_MAX,
    platen_dependency_call_duration_seconds: CALL_S_MAX,
  }
  for (const [name, limit] of Object.entries(limits)) {
    const bounds = [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([\\d.]+)"`, 'gm'))].map(([, bound]) =>
      Number(bound),
    )
    expect([name, Math.max(...bounds)]).toEqual([name, expect.toSatisfy((largest: number) => largest >= limit)])
  }
})

test('certificates are reported by the first that expires, as they are now, and those that are not set are not', async () => {
  const { metrics, seriesOf } = opened()
  let kafka = { ca: CERTIFICATE, cert: CERTIFICATE_SOONER }
  gaugeCertificates(metrics, () => ({ kafka, redis: undefined }))
  const end = Date.UTC(2029, 4, 12, 0, 20, 13) / 1000
  expect(await seriesOf('certificate')).toEqual([
    `platen_certificate_expiry_timestamp_seconds{vouches_for="kafka"} ${end}`,
  ])
  kafka = { ca: CERTIFICATE, cert: CERTIFICATE }
  expect(await seriesOf('certificate')).not.toEqual([expect.stringContaining(`${end}`)])
})
