/** What each process shows Prometheus before anything has happened, from the product's own meters. */
import { WEBHOOK_WAITS } from '@platen/adapters/kafka/delivery/topic.ts'
import { apiMeter } from '@platen/adapters/prometheus/api.ts'
import { type Dependencies, dependencyMeters } from '@platen/adapters/prometheus/dependency.ts'
import { gaugeCertificates } from '@platen/adapters/prometheus/deployable/certificate.ts'
import { countLostSpans } from '@platen/adapters/prometheus/deployable/lost-spans.ts'
import { serviceMetrics } from '@platen/adapters/prometheus/deployable/service.ts'
import { gaugeSettings } from '@platen/adapters/prometheus/deployable/setting.ts'
import { gaugeBacklog } from '@platen/adapters/prometheus/event/backlog.ts'
import { projectionMeter } from '@platen/adapters/prometheus/event/projection.ts'
import { retentionMeter } from '@platen/adapters/prometheus/event/retention.ts'
import { gaugeSealedSecrets, webhookMeter } from '@platen/adapters/prometheus/event/webhook.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { gaugeKeyExpiry, operatorMeter } from '@platen/adapters/prometheus/operator.ts'
import type { Metrics } from '@platen/adapters/prometheus/registry.ts'
import { rendererMeter, tenantMeter } from '@platen/adapters/prometheus/renderer.ts'
import { FAILURES, type FailureCode } from '@platen/contract/domain/error.ts'
import { LANES } from '@platen/contract/domain/render.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { LEASE } from '@platen/operator/leader/service.ts'
import { FOLLOWED_KINDS } from '@platen/operator/reconcile/resource-cache.ts'
import { EVENT_READERS } from '@platen/process/data-plane.ts'
import { anApi } from '../fixture/api.ts'
import { aFailure, aManifest, aRecord, CERTIFICATE } from '../fixture/build.ts'
import { manualClock } from '../fixture/memory/clock.ts'

export type Group =
  | 'all'
  | 'all in a cluster'
  | 'api, renderer, events'
  | 'api'
  | 'renderer'
  | 'renderer in a cluster'
  | 'events'
  | 'events in a cluster'
  | 'operator'

/** What is counted, by the process that counts it; on demand also the metrics that Node has of each process. */
export async function expositions({
  withProcess,
}: {
  readonly withProcess: boolean
}): Promise<Readonly<Record<Group, Metrics>>> {
  const named = (deployable: string) => openMetrics({ isRead: false, deployable })
  const all = openMetrics({ isRead: withProcess, deployable: 'renderer' })
  serviceMetrics(all, { log: { droppedLines: () => 0 }, clock: manualClock(), isDraining: () => false })
  const dependencies = dependencyMeters(all, manualClock())
  for (const name of ['redis', 's3', 'kafka'] as const) dependencies.add(name, () => true)
  const inCluster = named('renderer')
  const files = { ca: CERTIFICATE }
  gaugeCertificates(inCluster, () => ({ redis: files, kafka: files, s3: files, receivers: files }))
  gaugeSettings(inCluster, { since: () => 0, isRefused: () => false })
  const traced = named('renderer')
  countLostSpans(traced, { lostSpans: () => 0 })
  const renderer = named('renderer')
  const meter = rendererMeter(renderer, { tenants: [], dependencies, isChromiumUp: () => true })
  for (const engine of ENGINES) meter.serving(engine, { slots: 1, lanes: LANES, saturation: () => 0, storing: () => 0 })
  const tenants = named('renderer')
  const ended = tenantMeter(tenants, ['*'])
  // Tenants are no label before one has rendered.
  ended(aRecord(), aManifest().outcome)
  // What Object.keys gives of a catalog are its codes.
  for (const code of Object.keys(FAILURES) as FailureCode[])
    ended(aRecord(), aFailure({ error: { code, message: '' } }))
  const events = named('events')
  webhookMeter(events)
  retentionMeter(events, manualClock())

  const eventsInCluster = named('events')
  projectionMeter(eventsInCluster)
  gaugeBacklog(eventsInCluster, () => ({
    queues: ENGINES.flatMap((engine) => LANES.map((lane) => ({ engine, lane, renders: 0, oldestMs: 0 }))),
    readers: EVENT_READERS.map((name) => ({ name, records: 0 })),
    deliveries: WEBHOOK_WAITS.map(({ name }) => ({ name, records: 0 })),
  }))
  gaugeSealedSecrets(eventsInCluster, () => ({ first: 0, older: 0, unknown: 0 }))
  return {
    all,
    'all in a cluster': inCluster,
    'api, renderer, events': traced,
    api: await anApiExposition(named('api')),
    renderer,
    'renderer in a cluster': tenants,
    events,
    'events in a cluster': eventsInCluster,
    operator: anOperatorExposition(named('operator'), dependencies),
  }
}

async function anApiExposition(metrics: Metrics): Promise<Metrics> {
  const meter = apiMeter(metrics, {
    directory: () => ({ isReady: true, revision: 0, isConnected: true, ageMs: 0, damaged: 0 }),
  })
  // Its routes are known when they are registered.
  await anApi({ ports: { meter } }).app.ready()
  return metrics
}

function anOperatorExposition(metrics: Metrics, dependencies: Dependencies): Metrics {
  const counted = { kinds: FOLLOWED_KINDS, lease: LEASE, host: '10.96.0.1:443', dependencies, clock: manualClock() }
  operatorMeter(metrics, counted).controller('tenant', {
    workers: 1,
    readState: () => ({ waiting: { live: 0, resync: 0 }, runningMs: [] }),
  })
  gaugeKeyExpiry(metrics, { clock: manualClock(), ends: () => [] })
  return metrics
}
