/** The topology that scenarios run on: each is written once, and run on both. */
import { inject } from 'vitest'
import { startClusterService } from './cluster/service.ts'
import { startEmbedded } from './embedded.ts'
import type { TestedService } from './service.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The topology of this run of the scenarios. */
    topology: 'embedded' | 'cluster'
  }
}

/** Starts the service on manifests, those of the fixture unless told; `env` overrides settings, as the embedded service knows them. */
export function startService(env: Record<string, string> = {}, manifests?: string): Promise<TestedService> {
  return inject('topology') === 'embedded'
    ? startEmbedded(env, manifests)
    : startClusterService(env, { ...(manifests !== undefined && { manifests }) })
}
