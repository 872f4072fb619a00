/** A process of a cluster, from its settings to its exit code: opens what every process needs, and closes it in reverse order. */
import { type Health, openProbes, type Probes } from '@platen/adapters/http/probe-server.ts'
import { type InstalledArtifactStore, openArtifactStore } from '@platen/adapters/open-artifact-store.ts'
import { type Dependencies, dependencyMeters } from '@platen/adapters/prometheus/dependency.ts'
import { serviceMetrics } from '@platen/adapters/prometheus/deployable/service.ts'
import { gaugeSettings } from '@platen/adapters/prometheus/deployable/setting.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import type { Metrics } from '@platen/adapters/prometheus/registry.ts'
import { connectRedis, type RedisConnection, type RedisSettings } from '@platen/adapters/redis/connect.ts'
import type { ConnectionConfig } from '@platen/adapters/setting/connection.ts'
import { followSettings } from '@platen/adapters/setting/follow.ts'
import { type ProcessConfig, readLogLevel } from '@platen/adapters/setting/process.ts'
import { type Settings, unknownSettings, type Variables } from '@platen/adapters/setting/setting.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openLog, type ServiceLog } from '@platen/adapters/system/log.ts'
import { runUntilStopped, untilAborted } from '@platen/adapters/system/run.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { measureRedis, measureStore } from './dependency.ts'

const SECOND_MS = 1000

/** To reach the dependencies. After that, the process exits with the reason. */
const PROCESS_START_MS_MAX = 120 * SECOND_MS

type BaseConfig = ProcessConfig & Pick<ConnectionConfig, 'redis' | 's3'>

interface ProcessOptions<Config> {
  /** In logs, in metrics and at the brokers: `api`. */
  readonly deployable: string
  readonly settings: Settings<Config>
  readonly variables: Variables
  /** Where its connection to Redis differs from that of other processes. */
  readonly redis?: Partial<RedisSettings>
  /** Whether SIGTERM also aborts the start. */
  readonly isStartAborted?: boolean
}

export interface Process<Config> extends InstalledArtifactStore {
  readonly deployable: string
  /** As at the start. */
  readonly config: Config
  /** Settings in force. Some are in files, which may change: ask at each use. */
  readonly latest: () => Config
  readonly clock: Clock
  readonly ids: Ids
  readonly log: ServiceLog
  readonly metrics: Metrics
  readonly dependencies: Dependencies
  readonly probes: Probes
  readonly redis: RedisConnection
  /** Aborts when the start takes too long. */
  readonly starting: AbortSignal
  /** Aborts at SIGTERM. */
  readonly stop: AbortSignal
  readonly stack: AsyncDisposableStack
}

/** Runs `serve` until it resolves after a stop, then closes everything and exits. */
export async function runProcess<Config extends BaseConfig>(
  options: ProcessOptions<Config>,
  serve: (process: Process<Config>) => Promise<void>,
): Promise<never> {
  const log = openLog({ process: options.deployable, level: readLogLevel(options.variables) })
  return await runUntilStopped(log, async (stop) => {
    await using stack = new AsyncDisposableStack()
    await serve(await openProcess(options, { log, stop, stack }))
  })
}

/** Throws the error of the first dependency that fails; its message tells the operator why. */
export async function openProcess<Config extends BaseConfig>(
  options: ProcessOptions<Config>,
  { log, stop, stack }: Pick<Process<Config>, 'log' | 'stop' | 'stack'>,
): Promise<Process<Config>> {
  const { deployable, settings, variables } = options
  const config = settings.read(variables)
  const [clock, ids] = [systemClock(), systemIds()]
  const followed = stack.use(followSettings(settings, variables, { clock, log }))
  const latest = () => followed.latest()
  const unknown = unknownSettings(variables, settings)
  if (unknown.length > 0) log.warn({ settings: unknown }, 'unknown settings ignored')
  const limit = clock.timeout(PROCESS_START_MS_MAX)
  const starting = options.isStartAborted === true ? AbortSignal.any([stop, limit]) : limit
  const metrics = openMetrics({ isRead: true, deployable })
  serviceMetrics(metrics, { log, clock, isDraining: () => stop.aborted })
  gaugeSettings(metrics, followed)
  const probes = stack.use(await openProbes({ host: config.host, port: config.metricsPort, metrics, log }))
  const dependencies = dependencyMeters(metrics, clock)
  const measured = { dependencies, clock, log, stack }
  const onBroken = (name: 's3' | 'redis') => () => dependencies.connectionBroke(name)
  const storePorts = { clock, ids, latest: () => latest().s3, onBrokenConnection: onBroken('s3') }
  const opened = await openArtifactStore(config, storePorts, starting)
  stack.use(opened.artifacts)
  const store = measureStore(opened, measured)
  const connection = { ...config.redis, isAutoPipelined: true, ...options.redis, clock, latest: () => latest().redis }
  const opening = connectRedis({ ...connection, onBrokenConnection: onBroken('redis') }, starting)
  const redis = measureRedis(stack.use(await opening), measured)
  return {
    ...store,
    deployable,
    config,
    latest,
    clock,
    ids,
    log,
    metrics,
    dependencies,
    probes,
    redis,
    starting,
    stop,
    stack,
  }
}

/** Reports `health` to probes until the stop. `fields` go to the log line about the start. */
export async function serveUntilStopped(
  { log, probes, stop }: Process<unknown>,
  health: Health,
  fields: object = {},
): Promise<void> {
  using _ = probes.serving(health)
  log.info(fields, 'process started')
  await untilAborted(stop)
  log.info({}, 'drain started')
}
