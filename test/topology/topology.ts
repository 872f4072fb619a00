/** The topology that scenarios run on: each is written once, and run on both. */
import { inject } from 'vitest'
import { startClusterService } from './cluster/service.ts'
import { startEmbedded } from './embedded.ts'
import type { TestedService } from './service.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The Kafka of the cluster topology, and where it keeps everything; absent = embedded. */
    kafka?: { readonly broker: string; readonly folder: string }
  }
}

/** Starts the service on manifests, those of the fixture unless told; `env` overrides settings, as the embedded service knows them. */
export function startService(env: Record<string, string> = {}, text?: string): Promise<TestedService> {
  const kafka = inject('kafka')
  return kafka === undefined ? startEmbedded(env, text) : startClusterService(env, { kafka, text })
}
