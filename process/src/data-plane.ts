/** Opens what every process of the data plane needs. The process closes it in reverse order. */
import { connectKafka, type KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { webhookTopics } from '@platen/adapters/kafka/delivery/topic.ts'
import { prepareTopics, renderTopics, requireTopics, type TopicSettings } from '@platen/adapters/kafka/topic.ts'
import { openTracer } from '@platen/adapters/otel/open-tracer.ts'
import { gaugeCertificates } from '@platen/adapters/prometheus/deployable/certificate.ts'
import { countLostSpans } from '@platen/adapters/prometheus/deployable/lost-spans.ts'
import { openRedisDirectory, type RedisDirectory } from '@platen/adapters/redis/directory.ts'
import type { ConnectionConfig } from '@platen/adapters/setting/connection.ts'
import type { ProcessConfig } from '@platen/adapters/setting/process.ts'
import type { TraceExport } from '@platen/adapters/setting/trace.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { Tracer } from '@platen/lib/tracer.ts'
import { measureKafka } from './dependency.ts'
import type { Process } from './process.ts'

/** The webhook dispatcher, the writer of the expiry index, and the projections into Redis, of charges and of the list. */
export const EVENT_READERS = ['webhooks', 'retention', 'projection', 'list']

interface DataPlaneOptions {
  /** Under this name the process reports which settings it enforces. Absent = it does not report. */
  readonly reader?: string
  /** CA certificates of webhook receivers, as PEM, if the process calls any. */
  readonly receiversCa?: () => string | undefined
}

export interface DataPlane<Config> extends Process<Config> {
  readonly kafka: KafkaConnection
  readonly topics: TopicSettings
  readonly directory: RedisDirectory
  readonly tracer: Tracer
}

export type DataPlaneConfig = ConnectionConfig & ProcessConfig & { readonly traces: TraceExport | undefined }

const SETTINGS_ASKED_EVERY_MS = 100

/** Throws the error of the first dependency that fails; its message tells the operator why. */
export async function openDataPlane<Config extends DataPlaneConfig>(
  process: Process<Config>,
  { reader, receiversCa }: DataPlaneOptions = {},
): Promise<DataPlane<Config>> {
  const { deployable, config, clock, log, metrics, redis, starting, stack } = process
  const { connection, topics } = config.kafka
  const { traces } = config
  const tracer = stack.use(await openTracer({ traces, deployable, messagingSystem: 'kafka', clock, log }))
  countLostSpans(metrics, tracer)
  gaugeCertificates(metrics, () => {
    const { redis: ofRedis, kafka: ofKafka, s3 } = process.latest()
    return { redis: ofRedis.tls, kafka: ofKafka.connection.tls, s3: s3.tls, receivers: { ca: receiversCa?.() } }
  })
  stack.use(
    redis.health.watch((err) => {
      if (err === undefined) log.info({}, 'redis available again')
      else log.warn({ err }, 'redis unavailable')
    }),
  )
  const kafkaSettings = {
    ...connection,
    clientId: `platen-${deployable}`,
    latest: () => process.latest().kafka.connection,
    onBrokenConnection: () => process.dependencies.connectionBroke('kafka'),
  }
  const connected = stack.use(await connectKafka(kafkaSettings, { clock, log }, starting))
  const all = [...renderTopics(topics, EVENT_READERS), ...webhookTopics(topics)]
  let arePrepared = false
  const check = async () =>
    arePrepared ? requireTopics(connected, all, topics) : (await connected.admin()).describeCluster()
  const kafka = measureKafka(connected, check, process)
  const settingsRedis = stack.use(await redis.duplicate(REDIS_SETTINGS_CALL_MS_MAX, starting))
  const directory = stack.use(await openRedisDirectory({ redis: settingsRedis, clock, log, reader }, starting))
  await prepareTopics(kafka, all, { settings: topics, signal: starting })
  arePrepared = true
  return { ...process, kafka, topics, directory, tracer }
}

/**
 * Calls `begin` when there are settings, unless the stop came before. Without settings, every tenant would look deleted: renders of
 * suspended tenants would run, and webhook deliveries would be given up.
 */
export async function beginWithSettings(
  { directory, clock, stop }: Pick<DataPlane<unknown>, 'directory' | 'clock' | 'stop'>,
  begin: () => void,
): Promise<void> {
  while (!stop.aborted && !directory.state().isReady) {
    await clock.sleep(SETTINGS_ASKED_EVERY_MS, stop).catch(() => undefined)
  }
  if (!stop.aborted) begin()
}
