/** A cluster for tests, by default on the shared Kafka, with its own folder for manifests and data. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scaledTimeOptions } from '../../time/scaled-time.ts'
import { freeTopicPrefix, kafkaOfRun, removeTopics } from '../run-server.ts'
import type { Service } from '../service.ts'
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts'

export interface TestClusterOptions extends Partial<Omit<ClusterOptions, 'manifestsDir' | 'dataDir' | 'apiPorts'>> {
  /** YAML. Absent = none. */
  readonly manifests?: string
  /** Number of API processes. Default: 1. */
  readonly apis?: number
}

export interface TestCluster extends Cluster {
  readonly manifestsDir: string
  readonly dataDir: string
  /** Folder of everything that the cluster stores outside its servers. */
  readonly folder: string
  /** The service as callers of one API process reach it. */
  at(api: number): Service
}

/** Starts every server that is neither shared nor given in an option. Disposing leaves nothing on the shared Kafka. */
export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { manifests = '', apis = 1, settings = {}, engines = ['react_pdf'] } = options
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'platen-cluster-'))
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  const [dataDir, manifestsDir] = [join(folder, 'data'), join(folder, 'manifests')]
  await mkdir(manifestsDir)
  await writeFile(join(manifestsDir, 'all.yaml'), manifests)
  const kafka = options.kafka ?? (await kafkaForFile(stack))
  const apiPorts = Array.from({ length: apis }, () => 0)
  const cluster = stack.use(
    await startCluster({
      ...options,
      kafka,
      settings: { NODE_OPTIONS: scaledTimeOptions(), ...settings },
      engines,
      apiPorts,
      dataDir,
      manifestsDir,
    }),
  )
  const owned = stack.move()
  const ended = { [Symbol.asyncDispose]: () => owned.disposeAsync() }
  const at = (api: number): Service => ({ ...cluster, ...ended, url: () => cluster.urls[api] ?? '' })
  return { ...cluster, ...ended, folder, dataDir, manifestsDir, at }
}

/** The shared Kafka, with topics that are removed with the cluster. */
async function kafkaForFile(stack: AsyncDisposableStack): Promise<NonNullable<ClusterOptions['kafka']>> {
  const { broker } = await kafkaOfRun()
  const topicPrefix = freeTopicPrefix()
  stack.defer(() => removeTopics(broker, [topicPrefix]))
  return { broker, topicPrefix }
}
