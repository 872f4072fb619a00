/** Opens what every process of the data plane needs, in order of dependency, and closes it in reverse order. */
import { connectKafka, type KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { webhookTopics } from '@platen/adapters/kafka/delivery/topic.ts'
import { prepareTopics, renderTopics, type TopicSettings } from '@platen/adapters/kafka/topic.ts'
import { openRedisDirectory, type RedisDirectory } from '@platen/adapters/redis/directory.ts'
import type { ConnectionConfig } from '@platen/adapters/setting/connection.ts'
import type { ProcessConfig } from '@platen/adapters/setting/process.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/redis-limit.ts'
import { type Base, type BaseOptions, openBase } from './base.ts'

/** Readers of the event log: the webhook dispatcher, the writer of the expiry index, and the projection of the views in Redis. */
const EVENT_READERS = ['webhooks', 'retention', 'projection']

export interface ProcessOptions extends Omit<BaseOptions, 'redis' | 'certificates' | 'stop'> {
  readonly config: ProcessConfig & ConnectionConfig
  /** The name under which it reports which settings it enforces. Without it, the process only follows the settings. */
  readonly reader?: string
  /** CA certificates of webhook receivers, as PEM, if the process calls any. */
  readonly receiversCa?: string | undefined
}

export interface ClusterProcess extends Base {
  readonly kafka: KafkaConnection
  readonly topics: TopicSettings
  readonly directory: RedisDirectory
}

const SETTINGS_ASKED_EVERY_MS = 100

/**
 * Resolves when there are settings, or `stop` has aborted. Without settings, every tenant would look deleted: renders of suspended tenants
 * would run, and webhook deliveries would be given up.
 */
export async function waitForSettings(
  { directory, clock }: Pick<ClusterProcess, 'directory' | 'clock'>,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted && !directory.state().isReady) {
    await clock.sleep(SETTINGS_ASKED_EVERY_MS, stop).catch(() => undefined)
  }
}

/** Opens everything. Throws the error of the first dependency that fails; its message tells the operator why. */
export async function openProcess(options: ProcessOptions): Promise<ClusterProcess> {
  const { deployable, config, stack, reader } = options
  const base = await openBase({
    ...options,
    redis: { ...config.redis, isAutoPipelined: true },
    certificates: { kafka: config.kafka.connection.tls?.ca, receivers: options.receiversCa },
  })
  const { clock, log, redis, starting } = base
  stack.use(
    redis.health.watch((err) => {
      if (err === undefined) log.info({}, 'redis available again')
      else log.warn({ err }, 'redis unavailable')
    }),
  )
  const { topics, connection } = config.kafka
  const kafka = stack.use(
    await connectKafka({ ...connection, clientId: `platen-${deployable}` }, { clock, log }, starting),
  )
  const settingsRedis = stack.use(await redis.duplicate(REDIS_SETTINGS_CALL_MS_MAX, starting))
  const directory = stack.use(
    await openRedisDirectory({ redis: settingsRedis, clock, log, ...(reader !== undefined && { reader }) }, starting),
  )
  await prepareTopics(kafka, [...renderTopics(topics, EVENT_READERS), ...webhookTopics(topics)], {
    settings: topics,
    signal: starting,
  })
  return { ...base, kafka, topics, directory }
}
