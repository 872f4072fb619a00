/** Metrics of the embedded service: all metrics that its parts have as separate processes. */
import { apiMeter } from '@platen/adapters/prometheus/api.ts'
import { countDroppedLines } from '@platen/adapters/prometheus/deployable/dropped-lines.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { rendererMeter } from '@platen/adapters/prometheus/renderer.ts'
import { webhookMeter } from '@platen/adapters/prometheus/webhook.ts'
import type { Directory } from '@platen/contract/port/directory.ts'

export interface MetersOptions {
  readonly directory: Directory
  readonly log: { readonly droppedLines: () => number }
  /** Does anything read these metrics? */
  readonly isRead: boolean
}

/** Opens all metrics at zero. */
export function openMeters({ directory, log, isRead }: MetersOptions) {
  const metrics = openMetrics({ isRead, deployable: 'embedded' })
  countDroppedLines(metrics, log)
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
    renderer: rendererMeter(metrics, { countsTenants: false }),
    webhooks: webhookMeter(metrics),
  }
}
