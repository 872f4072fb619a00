/** The cluster topology as the scenarios have it: one API process, a renderer of each engine there is a browser for, webhooks. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ENGINES } from '@platen/contract/render.ts'
import { manifests } from '../../fixture/manifests.ts'
import type { RedisServer } from '../server/redis.ts'
import type { TestedService } from '../service.ts'
import { type Cluster, type Deployable, startCluster } from './cluster.ts'
import { openClusterStores } from './store.ts'

/** A bucket that a tenant of a scenario moves to. */
const BUCKETS = ['acme-own']

export interface ClusterService extends TestedService {
  readonly broker: string
  readonly redis: RedisServer
  /** Ends all processes of a deployable, until everything is started again. */
  without(name: Deployable): Promise<void>
}

export interface ClusterServiceOptions {
  readonly kafka: { readonly broker: string; readonly folder: string }
  /** Manifests; those of the fixture if absent. */
  readonly text?: string | undefined
  /** Of each engine; one if absent. */
  readonly renderers?: number
}

/** Starts a cluster on a Kafka that is there. `env` has the settings as the embedded service knows them. */
export async function startClusterService(
  env: Record<string, string>,
  { kafka, text = manifests(), renderers = 1 }: ClusterServiceOptions,
): Promise<ClusterService> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-cluster-'))
  const [dataDir, manifestsDir] = [join(folder, 'data'), join(folder, 'manifests')]
  await mkdir(manifestsDir)
  await writeFile(join(manifestsDir, 'all.yaml'), text)
  const { PLATEN_CHROMIUM: chromium, PLATEN_RENDER_SLOTS: slots, ...others } = env
  const cluster = await startCluster({
    settings: { ...others, ...(slots && { PLATEN_CONCURRENCY: slots }) },
    manifestsDir,
    dataDir,
    apiPorts: [0],
    renderers,
    engines: chromium === 'none' ? ['react_pdf'] : ENGINES,
    buckets: BUCKETS,
    broker: kafka.broker,
  })
  return {
    ...lifeOf(cluster),
    manifestsDir,
    dataDir,
    storedIn: [dataDir, cluster.redis.folder, cluster.s3.folder, kafka.folder],
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

function lifeOf(cluster: Cluster) {
  const { stop, kill, start, log, broker, redis } = cluster
  const [url = ''] = cluster.urls
  return {
    url: () => url,
    stop,
    kill,
    start,
    log,
    broker,
    redis,
    without: async (name: Deployable) => void (await Promise.all(cluster.processes(name).map((each) => each.stop()))),
    openStores: (signal: AbortSignal) => openClusterStores(cluster, signal),
  }
}
