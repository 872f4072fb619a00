/** What each process shows Prometheus before anything has happened, from the product's own meters. */
import { manualClock } from '@platen/adapters/memory/clock.ts'
import { apiMeter } from '@platen/adapters/prometheus/api.ts'
import { gaugeCertificates, gaugeRedis } from '@platen/adapters/prometheus/connection.ts'
import { countDroppedLines } from '@platen/adapters/prometheus/deployable/dropped-lines.ts'
import { countLostSpans } from '@platen/adapters/prometheus/deployable/lost-spans.ts'
import { gaugeSettings } from '@platen/adapters/prometheus/deployable/setting.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { gaugeKeyExpiry, operatorMeter } from '@platen/adapters/prometheus/operator.ts'
import { projectionMeter } from '@platen/adapters/prometheus/projection.ts'
import { countSetAside, gaugeQueue } from '@platen/adapters/prometheus/queue.ts'
import type { Metrics } from '@platen/adapters/prometheus/registry.ts'
import { rendererMeter, tenantMeter } from '@platen/adapters/prometheus/renderer.ts'
import { gaugeSealedSecrets, webhookMeter } from '@platen/adapters/prometheus/webhook.ts'
import { FAILURES, type FailureCode } from '@platen/contract/error.ts'
import { LANES } from '@platen/contract/render.ts'
import { ENGINES } from '@platen/contract/render-options.ts'
import { LEASE } from '@platen/operator/leader/service.ts'
import { FOLLOWED_KINDS } from '@platen/operator/reconcile/resource-cache.ts'
import { anApi } from '../fixture/api.ts'
import { aFailure, aManifest, aRecord, CERTIFICATE } from '../fixture/build.ts'

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

/** What is counted, by who counts it. What Node tells of each process by itself is among it on demand. */
export async function expositions({
  withProcess,
}: {
  readonly withProcess: boolean
}): Promise<Readonly<Record<Group, Metrics>>> {
  const named = (deployable: string) => openMetrics({ isRead: false, deployable })
  const all = openMetrics({ isRead: withProcess, deployable: 'renderer' })
  countDroppedLines(all, { droppedLines: () => 0 })
  const inCluster = named('renderer')
  gaugeRedis(inCluster, { isDown: () => false })
  const files = { ca: CERTIFICATE }
  gaugeCertificates(inCluster, () => ({ redis: files, kafka: files, s3: files, receivers: files }))
  gaugeSettings(inCluster, { since: () => 0, isRefused: () => false })
  const traced = named('renderer')
  countLostSpans(traced, { lostSpans: () => 0 })
  const renderer = named('renderer')
  rendererMeter(renderer, { countsTenants: false })
  const tenants = named('renderer')
  countSetAside(tenants, ['render'])
  const ended = tenantMeter(tenants)
  // Tenants are no label before one has rendered.
  ended(aRecord(), aManifest().outcome)
  // What Object.keys gives of a catalog are its codes.
  for (const code of Object.keys(FAILURES) as FailureCode[])
    ended(aRecord(), aFailure({ error: { code, message: '' } }))
  const events = named('events')
  webhookMeter(events)
  gaugeSealedSecrets(events, () => ({ first: 0, older: 0, unknown: 0 }))
  const eventsInCluster = named('events')
  projectionMeter(eventsInCluster, { lag: () => 0 })
  countSetAside(eventsInCluster, ['event', 'delivery'])
  gaugeQueue(eventsInCluster, () =>
    ENGINES.flatMap((engine) => LANES.map((lane) => ({ engine, lane, renders: 0, oldestMs: 0 }))),
  )
  return {
    all,
    'all in a cluster': inCluster,
    'api, renderer, events': traced,
    api: await anApiExposition(named('api')),
    renderer,
    'renderer in a cluster': tenants,
    events,
    'events in a cluster': eventsInCluster,
    operator: anOperatorExposition(named('operator')),
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

function anOperatorExposition(metrics: Metrics): Metrics {
  operatorMeter(metrics, { kinds: FOLLOWED_KINDS, lease: LEASE }).controller('tenant', {
    workers: 1,
    readState: () => ({ waiting: { live: 0, resync: 0 }, runningMs: [] }),
  })
  gaugeKeyExpiry(metrics, { clock: manualClock(), ends: () => [] })
  return metrics
}
