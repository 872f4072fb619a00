/** What the embedded service counts: all that each of its parts counts where it is a process of its own. */
import { apiMeter } from '@platen/adapters/prometheus/api.ts'
import { countDroppedLines } from '@platen/adapters/prometheus/deployable/dropped-lines.ts'
import { type Metrics, openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { rendererMeter } from '@platen/adapters/prometheus/renderer.ts'
import { webhookMeter } from '@platen/adapters/prometheus/webhook.ts'
import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import type { WebhookMeter } from '@platen/contract/port/webhook-meter.ts'

export interface EmbeddedMeters {
  readonly metrics: Metrics
  readonly api: ApiMeter
  readonly renderer: RendererMeter
  readonly webhooks: WebhookMeter
}

export interface MetersOptions {
  readonly directory: Directory
  readonly log: { readonly droppedLines: () => number }
  /** Will somebody ask for them? */
  readonly isRead: boolean
}

/** Everything at zero. */
export function openMeters({ directory, log, isRead }: MetersOptions): EmbeddedMeters {
  const metrics = openMetrics({ isRead, deployable: 'embedded' })
  countDroppedLines(metrics.registry, log)
  // What is published is in force at once, and nothing of it can be behind.
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
    renderer: rendererMeter(metrics, { countsTenants: false }),
    webhooks: webhookMeter(metrics),
  }
}
