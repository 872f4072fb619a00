import { collectDefaultMetrics } from 'prom-client'
import { gaugeBuild } from './deployable/build.ts'
import { gaugeEventLoop } from './deployable/event-loop.ts'
import { gaugeMemory } from './deployable/memory.ts'
import { type Metrics, openRegistry } from './registry.ts'

interface MetricsOptions {
  /** Enables the metrics of the process itself. They observe the garbage collector and the event loop, so enable them only if scraped. */
  readonly isRead: boolean
  /** Example: `api`. */
  readonly deployable: string
}

export function openMetrics({ isRead, deployable }: MetricsOptions): Metrics {
  const metrics = openRegistry()
  if (isRead) collectDefaultMetrics({ register: metrics.registry })
  gaugeBuild(metrics, { deployable })
  gaugeEventLoop(metrics, { isRead })
  gaugeMemory(metrics)
  return metrics
}
