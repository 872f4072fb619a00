/** Composes an operator. It reads resources from the API server, and writes settings to Redis and sources to the artifact store. */
import { REQUESTS_KEPT } from '@platen/adapters/kafka/limit.ts'
import { gaugeCertificates } from '@platen/adapters/prometheus/deployable/certificate.ts'
import { gaugeKeyExpiry, operatorMeter } from '@platen/adapters/prometheus/operator.ts'
import { readEpoch } from '@platen/adapters/redis/directory/layout.ts'
import { openRedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { readSealKeyReports } from '@platen/adapters/redis/directory/seal-key-report.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { keepHeapSmall } from '@platen/adapters/system/heap.ts'
import { instanceName } from '@platen/adapters/system/log.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import { type Process, runProcess } from '@platen/process/process.ts'
import { openTemplateChecker } from '@platen/renderer/engine/template-checker.ts'
import { openClusterClient } from './cluster/client.ts'
import { clusterOf, loadKubeConfig, namespaceOf } from './cluster/kubeconfig.ts'
import { type Config, SETTINGS } from './config.ts'
import { LEASE, openOperator } from './leader/service.ts'
import { FOLLOWED_KINDS } from './reconcile/resource-cache.ts'

if (import.meta.main) {
  keepHeapSmall()
  const redis = { callMsMax: REDIS_SETTINGS_CALL_MS_MAX, isAutoPipelined: false }
  const own = { deployable: 'operator', settings: SETTINGS, variables: process.env }
  await runProcess({ ...own, redis, isStartAborted: true }, serve)
}

/** Reconciles until the stop. Then the running reconciles finish, and the lease is released. */
async function serve(base: Process<Config>): Promise<void> {
  const { config, clock, ids, log, metrics, dependencies, probes, serviceBucket, redis, stop, stack } = base
  gaugeCertificates(metrics, () => ({ redis: base.latest().redis.tls, s3: base.latest().s3.tls }))
  const kubeconfig = loadKubeConfig()
  const { host } = new URL(clusterOf(kubeconfig).server)
  const meter = operatorMeter(metrics, { kinds: FOLLOWED_KINDS, lease: LEASE, host, dependencies, clock })
  const onBrokenConnection = () => dependencies.connectionBroke('kubernetes')
  const client = stack.use(openClusterClient({ config: kubeconfig, clock, meter, onBrokenConnection }))
  const onSettingsLost = (revision: number) => {
    log.warn({ revision }, 'settings republished, redis had lost them')
    meter.repaired('directory', 1)
  }
  const checker = stack.use(openTemplateChecker({ clock }))
  const operator = stack.use(
    openOperator({
      ports: {
        ...base,
        client,
        meter,
        limiter: redisLimiter(redis),
        checker,
        readSealKeyReports: (signal) => readSealKeyReports(redis, signal),
      },
      settings: {
        brand: config.brand,
        namespace: namespaceOf(kubeconfig),
        instance: instanceName(),
        sealKeys: () => base.latest().sealKeys,
        serviceBucket,
        requestsKept: REQUESTS_KEPT,
      },
      openPublisher: (epoch, signal) => openRedisPublisher({ redis, ids, epoch, onLost: onSettingsLost }, signal),
      readEpoch: (signal) => readEpoch(redis, signal),
    }),
  )
  gaugeKeyExpiry(metrics, { clock, ends: operator.resources.keyExpiries })
  using _ = probes.serving({ isReady: () => ({ ready: operator.isReady(), detail: {} }), isAlive: () => true })
  log.info({}, 'operator started, waiting for leadership')
  await operator.run(stop)
}
