/** Opens what every process of a cluster needs, in order of dependency, and closes it in reverse order. */
import { openProbes, type Probes } from '@platen/adapters/http/probe-server.ts'
import { type Certificates, gaugeCertificates } from '@platen/adapters/prometheus/certificate.ts'
import { countDroppedLines } from '@platen/adapters/prometheus/deployable/dropped-lines.ts'
import { type Metrics, openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { gaugeRedis } from '@platen/adapters/prometheus/redis.ts'
import { connectRedis, type RedisConnection, type RedisSettings } from '@platen/adapters/redis/connect.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import type { ConnectionConfig } from '@platen/adapters/setting/connection.ts'
import type { ProcessConfig } from '@platen/adapters/setting/process.ts'
import { type Settings, unknownSettings, type Variables } from '@platen/adapters/setting/setting.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { PROCESS_START_MS_MAX } from '@platen/contract/limit.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'

export interface BaseOptions {
  /** Its name in logs, in metrics and at the brokers: `api`. */
  readonly deployable: string
  readonly config: ProcessConfig & Pick<ConnectionConfig, 's3'>
  readonly redis: RedisSettings
  /** Environment variables at the start, and the settings the process knows. */
  readonly variables: Variables
  readonly known: Settings<unknown>
  /** CA certificates for connections other than Redis, as PEM. */
  readonly certificates?: Omit<Certificates, 'redis'>
  /** Also aborts the start, if given. */
  readonly stop?: AbortSignal
  /** Closes everything that is opened here. */
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
  /** Aborts steps that take too long while the process starts. */
  readonly starting: AbortSignal
}

/** Opens everything. Throws the error of the first dependency that fails; its message tells the operator why. */
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
