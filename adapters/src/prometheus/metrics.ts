/** The metrics of a process itself. `api.ts`, `renderer.ts`, `operator.ts` and `event` define those of each deployable. */
import { collectDefaultMetrics } from 'prom-client'
import { gaugeBuild } from './deployable/build.ts'
import { gaugeEventLoop } from './deployable/event-loop.ts'
import { gaugeMemory } from './deployable/memory.ts'
import { type Metrics, openRegistry } from './registry.ts'

interface MetricsOptions {
  /** Enables the metrics of the process itself. They observe the garbage collector and the event loop, so only if they are scraped. */
  readonly isRead: boolean
  /** The name of the deployable: `api`, `embedded`. */
  readonly deployable: string
}

/** Opens a registry with the metrics of the process and its version. */
export function openMetrics({ isRead, deployable }: MetricsOptions): Metrics {
  const metrics = openRegistry()
  if (isRead) collectDefaultMetrics({ register: metrics.registry })
  gaugeBuild(metrics, { deployable })
  gaugeEventLoop(metrics, { isRead })
  gaugeMemory(metrics)
  return metrics
}
