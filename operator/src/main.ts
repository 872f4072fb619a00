/** The composition root of an operator: what is declared from the API server, its settings into Redis, its sources into the artifact store. */
import { openProbes } from '@platen/adapters/http/probe-server.ts'
import { gaugeCertificates } from '@platen/adapters/prometheus/deployable/certificate.ts'
import { countDroppedLines } from '@platen/adapters/prometheus/deployable/dropped-lines.ts'
import { gaugeRedis } from '@platen/adapters/prometheus/deployable/redis.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { gaugeKeyExpiry, operatorMeter } from '@platen/adapters/prometheus/operator.ts'
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { readEpoch } from '@platen/adapters/redis/directory/layout.ts'
import { openRedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { unknownSettings } from '@platen/adapters/setting/setting.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { keepHeapSmall } from '@platen/adapters/system/heap.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { runUntilStopped } from '@platen/adapters/system/run.ts'
import { PROCESS_START_MS_MAX } from '@platen/contract/limit.ts'
import { CHECKS_AT_ONCE } from '@platen/contract/operator-limit.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/redis-limit.ts'
import { openThreadPool, spawnCheckThread } from '@platen/renderer/engine/thread-pool.ts'
import { openCheckThreads } from '@platen/settings/publish/check-threads.ts'
import { loadAccess } from './cluster/access.ts'
import { openClusterClient } from './cluster/client.ts'
import { readConfig, SETTINGS } from './config.ts'
import { LEASE, openOperator } from './leader/service.ts'
import { FOLLOWED_KINDS, keyEnds } from './reconcile/inventory.ts'

if (import.meta.main) {
  keepHeapSmall()
  await runUntilStopped(serve)
}

/** Reconciles until `stop` aborts; resolves when what is in hand has ended and the lease is given back. */
async function serve(stop: AbortSignal): Promise<void> {
  const config = readConfig(process.env)
  await using stack = new AsyncDisposableStack()
  const [clock, ids, log] = [systemClock(), systemIds(), openLog(config.logLevel)]
  const unknown = unknownSettings(process.env, SETTINGS)
  if (unknown.length > 0) log.warn({ settings: unknown }, 'settings unknown')
  const starting = AbortSignal.any([stop, clock.timeout(PROCESS_START_MS_MAX)])
  const metrics = openMetrics({ isRead: true, deployable: 'operator' })
  countDroppedLines(metrics, log)
  const meter = operatorMeter(metrics, { kinds: FOLLOWED_KINDS, lease: LEASE })
  const probes = stack.use(await openProbes({ host: config.host, port: config.metricsPort, metrics, log }))
  const artifacts = stack.use(await openS3ArtifactStore({ ...config.s3, clock, ids }, starting))
  const redis = stack.use(
    await connectRedis({ ...config.redis, clock, callMsMax: REDIS_SETTINGS_CALL_MS_MAX }, starting),
  )
  gaugeRedis(metrics, redis.pulse)
  gaugeCertificates(metrics, { redis: config.redis.tls?.ca })
  const client = stack.use(openClusterClient({ access: await loadAccess(config.kubeconfig), clock, meter }))
  const threads = stack.use(
    openCheckThreads({ open: () => openThreadPool({ size: CHECKS_AT_ONCE, clock, spawn: spawnCheckThread }), clock }),
  )
  const operator = stack.use(
    openOperator({
      ports: {
        client,
        artifacts,
        clock,
        ids,
        log,
        meter,
        check: threads.check,
      },
      settings: { ...config, serviceBucket: config.s3.home.bucket },
      openPublisher: (epoch, signal) => openRedisPublisher({ redis, ids, epoch }, signal),
      readEpoch: (signal) => readEpoch(redis, signal),
    }),
  )
  gaugeKeyExpiry(metrics, { clock, ends: () => keyEnds(operator.inventory) })
  using _ = probes.serving({ isReady: () => ({ ready: operator.isReady(), detail: {} }), isAlive: () => true })
  log.info({}, 'operator follows')
  await operator.run(stop)
}
