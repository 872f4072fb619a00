/** The topology that scenarios run on. Each scenario is written once and runs on both. */
import { inject } from 'vitest'
import { startClusterService } from './cluster/service.ts'
import { startEmbedded } from './embedded.ts'
import type { TestedService } from './service.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    topology: 'embedded' | 'cluster'
  }
}

/** Default manifests: those of the fixture. `env` overrides settings under their names in the embedded service. */
export function startService(env: Record<string, string> = {}, manifests?: string): Promise<TestedService> {
  return inject('topology') === 'embedded'
    ? startEmbedded(env, manifests)
    : startClusterService(env, { ...(manifests !== undefined && { manifests }) })
}
