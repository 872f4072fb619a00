/** What the tests of a cluster's processes have in common: a cluster on the Kafka of them all, and what is left of its renders. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectKafka, type KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import type { RenderEvent } from '@platen/contract/event.ts'
import { decodeManifest, MANIFEST_PREFIX, type Manifest } from '@platen/contract/render.ts'
import { assert, inject } from 'vitest'
import { key, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { type Cluster, SERVICE_BUCKET, startCluster } from '../topology/cluster/cluster.ts'
import { openClusterStores } from '../topology/cluster/store.ts'
import type { RedisServer } from '../topology/server/redis.ts'
import type { S3Server } from '../topology/server/s3.ts'
import { eventually, type Service } from '../topology/service.ts'

export interface TestCluster extends Cluster {
  /** The service as callers of one of its API processes have it. */
  at(api: number): Service
}

export interface TestClusterOptions {
  readonly documents: readonly object[]
  readonly apis?: number
  readonly renderers?: number
  readonly settings?: Readonly<Record<string, string>>
  /** The Kafka of all tests if absent. */
  readonly broker?: string
  /** Servers that stay their owner's; absent = of its own. */
  readonly redis?: RedisServer
  readonly s3?: S3Server
}

/** A letter, or when the data says so, a render that takes its time, or ends by its deadline alone. */
const LETTER = `
import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => {
  while (data.isEndless);
  for (let round = 0; round < data.rounds; round++);
  return <Document><Page><Text>A letter</Text></Page></Document>
}`

/** A tenant with a plan, a live key and the template `letter`. */
export function aTenant(name: string, liveKey: string, limits: object): readonly object[] {
  return [plan(name, limits), tenant(name, name), key(name, 'live', liveKey), template(name, 'letter', tsx(LETTER))]
}

/** The Kafka that all tests of the cluster share. */
export function sharedKafka(): string {
  const kafka = inject('kafka')
  assert(kafka !== undefined, 'it runs while tests do')
  return kafka.broker
}

/** Starts a cluster without a browser. */
export async function aCluster(options: TestClusterOptions): Promise<TestCluster> {
  const { documents, apis = 1, renderers = 1, settings = {}, broker = sharedKafka(), redis, s3 } = options
  const folder = await mkdtemp(join(tmpdir(), 'platen-test-'))
  const manifestsDir = join(folder, 'manifests')
  await mkdir(manifestsDir)
  await writeFile(join(manifestsDir, 'all.yaml'), manifestOf(documents))
  const cluster = await startCluster({
    settings: { PLATEN_CONCURRENCY: '2', ...settings },
    manifestsDir,
    dataDir: join(folder, 'data'),
    apiPorts: Array.from({ length: apis }, () => 0),
    engines: ['react_pdf'],
    renderers,
    broker,
    ...(redis !== undefined && { redis }),
    ...(s3 !== undefined && { s3 }),
  })
  const ended = {
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
  return { ...cluster, ...ended, at: (api) => ({ ...cluster, ...ended, url: () => cluster.urls[api] ?? '' }) }
}

/** Connects to a Kafka that asks for nothing. */
export function connectTo(broker: string, signal: AbortSignal): Promise<KafkaConnection> {
  return connectKafka({ brokers: [broker], clientId: 'test' }, { clock: systemClock(), log: openLog('error') }, signal)
}

const REDIS_CALL_MS_MAX = 5000

/** A connection of the test's own to the Redis of a cluster; the caller closes it. */
export function redisOf({ redis }: Pick<Cluster, 'redis'>, signal: AbortSignal): Promise<RedisConnection> {
  const place = { kind: 'server', address: redis } as const
  return connectRedis({ place, callMsMax: REDIS_CALL_MS_MAX, clock: systemClock() }, signal)
}

/** Every manifest in S3. */
export async function manifestsIn(cluster: Cluster, signal: AbortSignal): Promise<readonly Manifest[]> {
  await using stores = await openClusterStores(cluster, signal)
  const { artifacts } = stores
  const manifests: Manifest[] = []
  for await (const address of artifacts.list(SERVICE_BUCKET, MANIFEST_PREFIX, signal)) {
    manifests.push(decodeManifest((await artifacts.get(address, signal)) ?? Buffer.alloc(0)))
  }
  return manifests
}

/** Every event in Kafka, as often as it is there, when there are so many of them at least. */
export async function eventsIn(cluster: Cluster, least: number, signal: AbortSignal): Promise<readonly RenderEvent[]> {
  await using connection = await connectTo(cluster.broker, signal)
  const count = () => countEvents(connection, cluster.topicPrefix)
  const total = await eventually(count, (found) => found >= least)
  const events: RenderEvent[] = []
  const follow = kafkaEventLog(connection, { prefix: cluster.topicPrefix }).follow(`test-${total}`, signal)
  for await (const { event } of follow) if (events.push(event) === total) break
  return events
}

async function countEvents(connection: KafkaConnection, prefix: string): Promise<number> {
  const admin = await connection.admin()
  const partitions = await admin.fetchTopicOffsets(`${prefix}render.events`)
  return partitions.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0)
}
