/** What every process of a cluster stands on, opened in the order in which it is needed and closed in the reverse. */
import { openProbes, type Probes } from '@platen/adapters/http/probe-server.ts'
import { type Certificates, gaugeCertificates } from '@platen/adapters/prometheus/certificate.ts'
import { countDroppedLines } from '@platen/adapters/prometheus/deployable/dropped-lines.ts'
import { type Metrics, openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { gaugeRedis } from '@platen/adapters/prometheus/redis.ts'
import { connectRedis, type RedisConnection, type RedisSettings } from '@platen/adapters/redis/connect.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import type { ConnectionSettings } from '@platen/adapters/setting/connection.ts'
import type { ProcessSettings } from '@platen/adapters/setting/process.ts'
import { type SettingTable, unknownSettings, type Variables } from '@platen/adapters/setting/setting.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { PROCESS_START_MS_MAX } from '@platen/contract/limit.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'

export interface BaseOptions {
  /** What it is called in logs, metrics and by the brokers: `api`. */
  readonly deployable: string
  readonly config: ProcessSettings & Pick<ConnectionSettings, 's3'>
  readonly redis: RedisSettings
  /** What it was started with, and the settings it knows. */
  readonly variables: Variables
  readonly known: SettingTable
  /** Certificates that vouch for others than Redis, as PEM. */
  readonly certificates?: Omit<Certificates, 'redis'>
  /** Ends the start as well, where it is given. */
  readonly stop?: AbortSignal
  /** Whatever is opened here is closed by it. */
  readonly stack: AsyncDisposableStack
}

export interface Base {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: Metrics
  readonly probes: Probes
  readonly artifacts: ArtifactStore
  readonly redis: RedisConnection
  /** Ends what takes too long while the process starts. */
  readonly starting: AbortSignal
}

/** Opens it all. Throws what the first of them threw that could not be had: why, in words for the operator. */
export async function openBase(options: BaseOptions): Promise<Base> {
  const { deployable, config, stack, stop } = options
  const [clock, ids, log] = [systemClock(), systemIds(), openLog(config.logLevel)]
  const unknown = unknownSettings(options.variables, options.known)
  if (unknown.length > 0) log.warn({ settings: unknown }, 'unknown settings ignored')
  const limit = clock.timeout(PROCESS_START_MS_MAX)
  const starting = stop === undefined ? limit : AbortSignal.any([stop, limit])
  const metrics = openMetrics({ isRead: true, deployable })
  countDroppedLines(metrics.registry, log)
  const probes = stack.use(await openProbes({ host: config.host, port: config.metricsPort, metrics, log }))
  const artifacts = stack.use(await openS3ArtifactStore({ ...config.s3, clock, ids }, starting))
  const redis = stack.use(await connectRedis({ ...options.redis, clock }, starting))
  gaugeRedis(metrics, redis.health)
  gaugeCertificates(metrics, { redis: options.redis.tls?.ca, ...options.certificates })
  return { clock, ids, log, metrics, probes, artifacts, redis, starting }
}
