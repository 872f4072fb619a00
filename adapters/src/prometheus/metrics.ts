/**
 * Prometheus metrics, with prom-client. `api.ts`, `renderer.ts` and `webhook.ts` define the metrics of each deployable. Labels have values
 * from closed sets only, as the number of tenants, templates, hosts and ids has no limit. The exception is `tenantMeter`, on request.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { gaugeEventLoop } from './deployable/event-loop.ts'
import { gaugeMemory } from './deployable/memory.ts'

export interface Metrics {
  readonly contentType: string
  /** Returns all metrics in the exposition format. */
  text(): Promise<string>
  /** The registry to which meters add their metrics. */
  readonly registry: Registry
}

export interface MetricsOptions {
  /** Enables the metrics of the process itself. They observe the garbage collector and the event loop, so only if they are scraped. */
  readonly isRead: boolean
  /** The name of the deployable: `api`, `embedded`. */
  readonly deployable: string
}

/** Opens a registry with the metrics of the process and its version. */
export function openMetrics({ isRead, deployable }: MetricsOptions): Metrics {
  const registry = new Registry()
  if (isRead) collectDefaultMetrics({ register: registry })
  const build = new Gauge({
    name: 'platen_build_info',
    help: 'Always 1; the labels name the version and the deployable.',
    labelNames: ['version', 'deployable'],
    registers: [registry],
  })
  build.set({ version: versionOf(), deployable }, 1)
  gaugeEventLoop(registry, { isRead })
  gaugeMemory(registry)
  return { contentType: registry.contentType, text: () => registry.metrics(), registry }
}

/** All packages have the same version. */
function versionOf(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest
  assert(isManifest && typeof manifest.version === 'string', 'a package has a version')
  return manifest.version
}
