/** What every process of the data plane stands on, opened in the order in which it is needed and closed in the reverse. */
import { PROCESS_START_MS_MAX } from '@platen/contract/limit.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/redis-limit.ts'
import { openProbes, type Probes } from '../http/probe-server.ts'
import { connectKafka, type KafkaConnection } from '../kafka/connect.ts'
import { webhookTopics } from '../kafka/delivery/topic.ts'
import { prepareTopics, renderTopics, type TopicSettings } from '../kafka/topic.ts'
import { gaugeCertificates } from '../prometheus/deployable/certificate.ts'
import { countDroppedLines } from '../prometheus/deployable/dropped-lines.ts'
import { gaugeRedis } from '../prometheus/deployable/redis.ts'
import { type Metrics, openMetrics } from '../prometheus/metrics.ts'
import { connectRedis, type RedisConnection } from '../redis/connect.ts'
import { openRedisDirectory, type RedisDirectory } from '../redis/directory.ts'
import { openS3ArtifactStore } from '../s3/artifact-store.ts'
import type { ConnectionSettings } from '../setting/connection.ts'
import type { ProcessSettings } from '../setting/process.ts'
import { type SettingTable, unknownSettings, type Variables } from '../setting/setting.ts'
import { systemClock } from './clock.ts'
import { systemIds } from './ids.ts'
import { openLog } from './log.ts'

/** Under which names the event log is read: by the dispatcher, who keeps the expiry index, and who makes the views in Redis. */
const EVENT_READERS = ['webhooks', 'retention', 'projection']

export interface ProcessOptions {
  /** What it is called in logs, metrics and by the brokers: `api`. */
  readonly deployable: string
  readonly config: ProcessSettings & ConnectionSettings
  /** What it was started with, and the settings it knows. */
  readonly variables: Variables
  readonly known: SettingTable
  /** Whether it tells which settings it enforces, under a name of its own; else it only follows them. */
  readonly reader?: string
  /** Certificates that vouch for receivers of webhooks, as PEM, where it calls any. */
  readonly receiversCa?: string | undefined
  /** Whatever is opened here is closed by it. */
  readonly stack: AsyncDisposableStack
}

export interface ClusterProcess {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: Metrics
  readonly probes: Probes
  readonly artifacts: ArtifactStore
  readonly redis: RedisConnection
  readonly kafka: KafkaConnection
  readonly topics: TopicSettings
  readonly directory: RedisDirectory
  /** Where manifests and templates stand. */
  readonly serviceBucket: string
  /** Ends what takes too long while the process starts. */
  readonly starting: AbortSignal
}

const SETTINGS_ASKED_EVERY_MS = 100
const DAY_MS = 24 * 3600 * 1000

/**
 * Resolves when there are settings, or `stop` has aborted. Without any, every tenant would look like one that is no more: what was
 * suspended would be rendered, and what is to be delivered be given up.
 */
export async function settingsThere(
  { directory, clock }: Pick<ClusterProcess, 'directory' | 'clock'>,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted && !directory.state().isReady) {
    await clock.sleep(SETTINGS_ASKED_EVERY_MS, stop).catch(() => undefined)
  }
}

/** Opens it all. Throws what the first of them threw that could not be had: why, in words for the operator. */
export async function openProcess(options: ProcessOptions): Promise<ClusterProcess> {
  const { deployable, config, stack, reader } = options
  const [clock, ids, log] = [systemClock(), systemIds(), openLog(config.logLevel)]
  const unknown = unknownSettings(options.variables, options.known)
  if (unknown.length > 0) log.warn({ settings: unknown }, 'settings unknown')
  const starting = clock.timeout(PROCESS_START_MS_MAX)
  const metrics = openMetrics({ isRead: true, deployable })
  countDroppedLines(metrics, log)
  const probes = stack.use(await openProbes({ host: config.host, port: config.metricsPort, metrics, log }))
  const artifacts = stack.use(await openS3ArtifactStore({ ...config.s3, clock, ids }, starting))
  const redis = stack.use(await connectRedis({ ...config.redis, clock, isGathering: true }, starting))
  gaugeRedis(metrics, redis.pulse)
  const [redisCa, kafkaCa] = [config.redis.tls?.ca, config.kafka.tls?.ca]
  gaugeCertificates(metrics, { redis: redisCa, kafka: kafkaCa, receivers: options.receiversCa })
  stack.use(
    redis.pulse.watch((err) => {
      if (err === undefined) log.info({}, 'redis back')
      else log.warn({ err }, 'redis away')
    }),
  )
  const { topics, connection } = kafkaOf(config.kafka)
  const kafka = stack.use(
    await connectKafka({ ...connection, clientId: `platen-${deployable}` }, { clock, log }, starting),
  )
  const settingsLine = stack.use(await redis.line(REDIS_SETTINGS_CALL_MS_MAX, starting))
  const directory = stack.use(
    await openRedisDirectory({ redis: settingsLine, clock, log, ...(reader !== undefined && { reader }) }, starting),
  )
  await prepareTopics(kafka, [...renderTopics(topics, EVENT_READERS), ...webhookTopics(topics)], {
    settings: topics,
    signal: starting,
  })
  return {
    clock,
    ids,
    log,
    metrics,
    probes,
    artifacts,
    redis,
    kafka,
    topics,
    directory,
    serviceBucket: config.s3.home.bucket,
    starting,
  }
}

/** The settings of Kafka, as those of a connection and of the topics. */
function kafkaOf(settings: ConnectionSettings['kafka']) {
  const { topicPrefix: prefix, partitions, replicas, inSyncMin, eventPartitions, eventDays, ...connection } = settings
  const topics: TopicSettings = {
    prefix,
    replicas,
    inSyncMin,
    eventsKeptMs: eventDays && eventDays * DAY_MS,
    partitions: {
      ...(partitions && { sync: partitions, async: partitions, bulk: partitions }),
      ...(eventPartitions && { events: eventPartitions }),
    },
  }
  return { topics, connection }
}
