/** What the tests of a cluster's processes have in common: a cluster on the Kafka of them all, and what is left of its renders. */
import { connectKafka, type KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { retryTransient } from '@platen/adapters/kafka/group.ts'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import { decodeManifest, MANIFEST_PREFIX, type Manifest } from '@platen/contract/domain/render.ts'
import { type Ended, MAIN, run } from '../cli/command.ts'
import { key, LETTER_TSX, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { type Cluster, SERVICE_BUCKET } from '../topology/cluster/cluster.ts'
import { openClusterStores } from '../topology/cluster/store.ts'
import { startTestCluster, type TestCluster, type TestClusterOptions } from '../topology/cluster/test-cluster.ts'
import { redisSettings } from '../topology/server/redis.ts'
import { s3Settings } from '../topology/server/s3.ts'

export interface ClusterHarnessOptions extends Omit<TestClusterOptions, 'manifests'> {
  readonly documents: readonly object[]
}

/** What to ask for a letter of such a tenant. */
export const LETTER = { template: 'letter', data: {} }

export function aTenant(name: string, liveKey: string, limits: object): readonly object[] {
  return [plan(name, limits), tenant(name, name), key(name, 'live', liveKey), template(name, 'letter', tsx(LETTER_TSX))]
}

export function aCluster({ documents, settings, ...options }: ClusterHarnessOptions): Promise<TestCluster> {
  const manifests = manifestOf(documents)
  return startTestCluster({ ...options, manifests, settings: { PLATEN_RENDER_SLOTS: '2', ...settings } })
}

/** Connects to a Kafka that asks for nothing. */
export function connectTo(broker: string, signal: AbortSignal): Promise<KafkaConnection> {
  return connectKafka(
    { brokers: [broker], clientId: 'test' },
    { clock: systemClock(), log: openLog({ level: 'error', process: 'test', instance: 'test' }) },
    signal,
  )
}

/** A connection of the test's own to the Redis of a cluster; the caller closes it. */
export function redisOf({ redis }: Pick<Cluster, 'redis'>, signal: AbortSignal): Promise<RedisConnection> {
  return connectRedis(redisSettings(redis), signal)
}

/** Calls `platen erase` for a cluster, in a process of its own. */
export function erase({ redis, s3 }: Pick<Cluster, 'redis' | 's3'>, ...args: readonly string[]): Promise<Ended> {
  return run(process.execPath, [MAIN, 'erase', ...args], { env: { PLATEN_REDIS_URL: redis.url, ...s3Settings(s3) } })
}

/** The account of a render that was not erased. */
export function accountOf({ render }: Manifest): string {
  return 'account' in render ? render.account : ''
}

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
  const count = () => countEvents(connection, cluster.topicPrefix, signal)
  const total = await poll(count).until((found) => found >= least)
  const events: RenderEvent[] = []
  const follow = kafkaEventLog(connection, { prefix: cluster.topicPrefix }).follow(`test-${total}`, signal)
  for await (const { event } of follow) if (events.push(event) === total) break
  return events
}

/**
 * The events of these renders, as often as they are in Kafka, when each render has one. A caller may see the end of a render before its
 * event is there, and an event may be there twice before another one is.
 */
export async function eventsOf(
  cluster: Cluster,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly RenderEvent[]> {
  const own = async () =>
    (await eventsIn(cluster, ids.length, signal)).filter(({ manifest }) => ids.includes(manifest.render.id))
  return await poll(own).until(
    (events) => new Set(events.map(({ manifest }) => manifest.render.id)).size === ids.length,
  )
}

/** The offsets of a topic. A broker that has just started does not lead its partitions yet. */
export function offsetsIn(connection: KafkaConnection, topic: string, signal: AbortSignal) {
  const read = async () => await (await connection.admin()).fetchTopicOffsets(topic)
  return retryTransient(connection, read, { signal })
}

async function countEvents(connection: KafkaConnection, prefix: string, signal: AbortSignal): Promise<number> {
  const partitions = await offsetsIn(connection, `${prefix}render.events`, signal)
  return partitions.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0)
}
