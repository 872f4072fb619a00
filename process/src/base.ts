/** Opens what every process of a cluster needs, in order of dependency, and closes it in reverse order. */
import { openProbes, type Probes } from '@platen/adapters/http/probe-server.ts'
import {
  type ArtifactStoreSettings,
  type InstalledArtifactStore,
  openArtifactStore,
} from '@platen/adapters/open-artifact-store.ts'
import { type Certificates, gaugeCertificates } from '@platen/adapters/prometheus/certificate.ts'
import { countDroppedLines } from '@platen/adapters/prometheus/deployable/dropped-lines.ts'
import { type Metrics, openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { gaugeRedis } from '@platen/adapters/prometheus/redis.ts'
import { connectRedis, type RedisConnection, type RedisSettings } from '@platen/adapters/redis/connect.ts'
import type { ProcessSettings } from '@platen/adapters/setting/process.ts'
import { type SettingTable, unknownSettings, type Variables } from '@platen/adapters/setting/setting.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { PROCESS_START_MS_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'

export interface BaseOptions {
  /** Its name in logs, in metrics and at the brokers: `api`. */
  readonly deployable: string
  readonly config: ProcessSettings & ArtifactStoreSettings
  readonly redis: RedisSettings
  /** Environment variables at the start, and the settings the process knows. */
  readonly variables: Variables
  readonly known: SettingTable
  /** CA certificates for connections other than Redis, as PEM. */
  readonly certificates?: Omit<Certificates, 'redis'>
  /** Also aborts the start, if given. */
  readonly stop?: AbortSignal
  /** Closes everything that is opened here. */
  readonly stack: AsyncDisposableStack
}

export interface Base extends InstalledArtifactStore {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: Metrics
  readonly probes: Probes
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
  const store = await openArtifactStore(config, { clock, ids }, starting)
  stack.use(store.artifacts)
  const redis = stack.use(await connectRedis({ ...options.redis, clock }, starting))
  gaugeRedis(metrics, redis.health)
  gaugeCertificates(metrics, { redis: options.redis.tls?.ca, ...options.certificates })
  return { ...store, clock, ids, log, metrics, probes, redis, starting }
}
