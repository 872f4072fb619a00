/**
 * What Prometheus scrapes, by prom-client; `api.ts`, `renderer.ts` and `webhook.ts` hold what each deployable counts. Labels come
 * from closed sets only, as of tenants, templates, hosts and ids there is no end; `tenantRenders` says where one may ask for some.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { gaugeEventLoop } from './deployable/event-loop.ts'
import { gaugeMemory } from './deployable/memory.ts'

export interface Metrics {
  readonly contentType: string
  /** Everything counted so far, in the exposition format. */
  text(): Promise<string>
  /** Where meters add what they count. */
  readonly registry: Registry
}

export interface MetricsOptions {
  /** Those of the process itself are counted only where somebody reads them, as they watch its collector and its event loop. */
  readonly isRead: boolean
  /** The name of the process: `api`, `embedded`. */
  readonly deployable: string
}

/** Of the process, and of what it is. */
export function openMetrics({ isRead, deployable }: MetricsOptions): Metrics {
  const registry = new Registry()
  if (isRead) collectDefaultMetrics({ register: registry })
  const build = new Gauge({
    name: 'platen_build_info',
    help: 'Always 1: which version this is, of what.',
    labelNames: ['version', 'deployable'],
    registers: [registry],
  })
  build.set({ version: versionOf(), deployable }, 1)
  gaugeEventLoop(registry, { isRead })
  gaugeMemory(registry)
  return { contentType: registry.contentType, text: () => registry.metrics(), registry }
}

/** All packages have one version, this one included. */
function versionOf(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest
  assert(isManifest && typeof manifest.version === 'string', 'a package has a version')
  return manifest.version
}
