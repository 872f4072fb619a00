/** The stores of a cluster, or those in the data folder of a stopped embedded service. */
import { join } from 'node:path'
import { openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { deliveryStoreIn } from '@platen/adapters/kafka/delivery/delivery-store.ts'
import { openArtifactStore } from '@platen/adapters/open-artifact-store.ts'
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { openRedisDirectory } from '@platen/adapters/redis/directory.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { redisDeliveryList } from '@platen/adapters/redis/render-list/delivery-list.ts'
import { redisRenderList } from '@platen/adapters/redis/render-list.ts'
import { REDIS_SETTINGS } from '@platen/adapters/setting/connection/redis.ts'
import { ARTIFACT_STORE_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { PATH } from '@platen/adapters/setting/format.ts'
import { setting, table, type Variables } from '@platen/adapters/setting/setting.ts'
import { DataFolderLocked, openDatabase } from '@platen/adapters/sqlite/database.ts'
import { openSqliteDeliveryLog } from '@platen/adapters/sqlite/delivery-log.ts'
import { sqliteRenderList } from '@platen/adapters/sqlite/render-ledger/render-list.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { Tenant, TenantId } from '@platen/contract/domain/tenant.ts'
import type { RenderList } from '@platen/contract/port/render-list.ts'
import { type ErasureOrderPorts, rendersInIndex, rendersInLedger } from '@platen/events/retention/erasure-order.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import { SERVICE_BUCKET } from '@platen/settings/manifest/compile-folder.ts'
import { accountOf, loadIdentities } from '@platen/settings/manifest/identity.ts'
import { UsageError } from '../diagnostic/diagnostic.ts'

const CLUSTER_SETTINGS = table({ redis: REDIS_SETTINGS, ...ARTIFACT_STORE_SETTINGS })
const EMBEDDED_SETTINGS = table({
  dataDir: setting('PLATEN_DATA_DIR', PATH, { default: './data', description: 'Data folder of the embedded service.' }),
})

export interface ErasureStores extends ErasureOrderPorts, AsyncDisposable {
  /** Only for a tenant that exists now. */
  readonly tenantOf: (name: string) => Promise<FoundTenant | undefined>
  readonly listed: Pick<RenderList, 'page'>
}

export interface FoundTenant {
  readonly account: string
  readonly storage?: Tenant['storage']
}

interface OpenPorts {
  readonly variables: Variables
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

/** Kafka is not needed. Throws `ConfigError`, `Unavailable` or `ArtifactStoreUnfit`. */
export async function openClusterStores(ports: OpenPorts, signal: AbortSignal): Promise<ErasureStores> {
  const { variables, clock, ids, log } = ports
  const { redis: place, ...settings } = CLUSTER_SETTINGS.read(variables)
  await using stack = new AsyncDisposableStack()
  const store = await openArtifactStore(settings, { clock, ids }, signal)
  stack.use(store.artifacts)
  const redis = stack.use(await connectRedis({ ...place, clock, callMsMax: REDIS_SETTINGS_CALL_MS_MAX }, signal))
  const list = redisRenderList(redis)
  const owned = stack.move()
  return {
    ...store,
    clock,
    log,
    deliveries: deliveryStoreIn(store.artifacts, { bucket: store.serviceBucket }),
    ledger: redisRenderLedger(redis),
    list,
    deliveryList: redisDeliveryList(redis),
    listed: list,
    findRenders: (order, until) => rendersInIndex(order, store, until),
    async tenantOf(name) {
      await using directory = await openRedisDirectory({ redis, clock, log }, signal)
      await directory.refresh(signal)
      // Branded without a check: an invalid name belongs to nobody.
      const tenant = directory.current().tenants.get(name as TenantId)
      return tenant && { account: tenant.account, storage: tenant.storage }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Throws `UsageError` when there is no data folder, or the service is running. */
export async function openEmbeddedStores(ports: OpenPorts, signal: AbortSignal): Promise<ErasureStores> {
  const { variables, clock, log } = ports
  const { dataDir } = EMBEDDED_SETTINGS.read(variables)
  const identities = await loadIdentities(dataDir)
  if (Object.keys(identities).length === 0) throw new UsageError(`${dataDir} is not the data folder of a service`)
  const database = await openDatabase({ path: join(dataDir, 'platen.db'), signal }).catch((cause: unknown) => {
    if (!(cause instanceof DataFolderLocked)) throw cause
    throw new UsageError(`the data folder ${dataDir} is in use: stop the service first`, { cause })
  })
  await using stack = new AsyncDisposableStack()
  stack.use(database)
  const urls = { publicUrl: () => '', urlKey: Buffer.alloc(32) }
  const artifacts = await openFileArtifactStore({ root: join(dataDir, 'artifacts'), clock, ...urls })
  const ledger = sqliteRenderLedger(database, clock)
  const deliveries = await openSqliteDeliveryLog(database, { clock }, signal)
  const owned = stack.move()
  return {
    artifacts,
    serviceBucket: SERVICE_BUCKET,
    clock,
    log,
    deliveries,
    ledger,
    listed: sqliteRenderList(database, clock),
    forgetRecords: (id, until) => ledger.forgetRecords(id, until),
    findRenders: (order, until) => rendersInLedger(order, { artifacts, serviceBucket: SERVICE_BUCKET, ledger }, until),
    async tenantOf(name) {
      const place = `Tenant ${name}`
      const identity = Object.hasOwn(identities, place) ? identities[place] : undefined
      return identity && { account: accountOf(identity) }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
