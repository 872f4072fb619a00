/** The cluster topology for scenarios: one API process, an events process, and a renderer for each engine this machine can run. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { manifests as fixtureManifests } from '../../fixture/manifests.ts'
import { kafkaOfRun } from '../run-server.ts'
import type { TestedService } from '../service.ts'
import type { Deployable } from './cluster.ts'
import { openClusterStores } from './store.ts'
import { startTestCluster, type TestCluster, type TestClusterOptions } from './test-cluster.ts'

/** Buckets that tenants of scenarios move to. */
const BUCKETS = ['acme-own']

export interface ClusterService extends TestCluster, TestedService {
  readonly dataDir: string
  readonly manifestsDir: string
  readonly log: () => string
  readonly start: () => Promise<void>
  readonly stop: () => Promise<number | null>
  readonly kill: () => Promise<void>
  /** Ends all processes of a deployable, until `start`. */
  without(name: Deployable): Promise<void>
}

/** Default manifests: those of the fixture. `env` has settings under their names in the embedded service. */
export async function startClusterService(
  env: Record<string, string>,
  { manifests = fixtureManifests(), ...options }: TestClusterOptions = {},
): Promise<ClusterService> {
  const { PLATEN_CHROMIUM: chromium, ...settings } = env
  const cluster = await startTestCluster({
    settings,
    engines: chromium === 'none' ? ['react_pdf'] : ENGINES,
    buckets: BUCKETS,
    manifests,
    ...options,
  })
  return {
    ...cluster,
    url: () => cluster.urls[0] ?? '',
    storedIn: [cluster.dataDir, cluster.redis.folder, cluster.s3.folder, ...(await topicFolders(cluster))],
    without: async (name: Deployable) => void (await Promise.all(cluster.processes(name).map((each) => each.stop()))),
    openStores: (signal: AbortSignal) => openClusterStores(cluster, signal),
  }
}

/** Folders in which the shared Kafka keeps the topics of a cluster. */
async function topicFolders({ topicPrefix }: TestCluster): Promise<readonly string[]> {
  if (topicPrefix === '') return []
  const log = join((await kafkaOfRun()).folder, 'log')
  return readdirSync(log).flatMap((name) => (name.startsWith(topicPrefix) ? [join(log, name)] : []))
}
