/** All metrics that the parts of the embedded service have as separate processes. Loaded only with a metrics port. */
import { apiMeter } from '@platen/adapters/prometheus/api.ts'
import { dependencyMeters } from '@platen/adapters/prometheus/dependency.ts'
import { countLostSpans } from '@platen/adapters/prometheus/deployable/lost-spans.ts'
import { serviceMetrics } from '@platen/adapters/prometheus/deployable/service.ts'
import { retentionMeter } from '@platen/adapters/prometheus/event/retention.ts'
import { webhookMeter } from '@platen/adapters/prometheus/event/webhook.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { rendererMeter } from '@platen/adapters/prometheus/renderer.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Meters } from './meters.ts'

export interface MetersOptions {
  readonly directory: Directory
  readonly log: { readonly droppedLines: () => number }
  readonly clock: Clock
  readonly isDraining: () => boolean
  /** Absent without Chromium. */
  readonly isChromiumUp?: () => boolean
}

export function openMeters(options: MetersOptions): Meters {
  const { directory, clock, isChromiumUp } = options
  const metrics = openMetrics({ isRead: true, deployable: 'embedded' })
  serviceMetrics(metrics, options)
  const dependencies = dependencyMeters(metrics, clock)
  // Published settings are enforced at once, so no process can lag behind.
  const directoryState = () => ({
    isReady: true,
    isConnected: true,
    revision: directory.current().revision,
    ageMs: 0,
    damaged: 0,
  })
  return {
    metrics,
    api: apiMeter(metrics, { directory: directoryState }),
    renderer: rendererMeter(metrics, { tenants: [], dependencies, isChromiumUp }),
    webhooks: webhookMeter(metrics),
    retention: retentionMeter(metrics, clock),
    tracing: (tracer) => countLostSpans(metrics, tracer),
  }
}
