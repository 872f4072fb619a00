/** The target of a publish: Redis and the artifact store that the environment names. */
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { openRedisPublisher, type RedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import { REDIS_SETTINGS } from '@platen/adapters/setting/connection/redis.ts'
import { S3_SETTINGS } from '@platen/adapters/setting/connection/s3.ts'
import { PATH } from '@platen/adapters/setting/format.ts'
import { brandSetting } from '@platen/adapters/setting/process.ts'
import { setting, table, type Variables } from '@platen/adapters/setting/setting.ts'
import { SEAL_KEY_SETTING } from '@platen/adapters/setting/webhook.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/redis-limit.ts'
import type { SealKey } from '@platen/contract/seal.ts'

const SETTINGS = table({
  redis: REDIS_SETTINGS,
  s3: S3_SETTINGS,
  sealKey: SEAL_KEY_SETTING,
  dataDir: setting('PLATEN_DATA_DIR', PATH, {
    default: './data',
    description: 'Folder of the identities of tenants, generated API keys and webhook secrets.',
  }),
  brand: brandSetting('Opens the prefix of generated API keys (`service_live_`).'),
})

export interface Target extends AsyncDisposable {
  readonly publisher: RedisPublisher
  readonly artifacts: ArtifactStore
  /** The bucket of templates and of all PDFs whose tenant names no other bucket. */
  readonly serviceBucket: string
  readonly dataDir: string
  readonly brand: string
  readonly sealKey: SealKey
}

/**
 * Opens the stores that the environment names, and fences any earlier publisher. Throws `ConfigError` naming every wrong setting,
 * `Unavailable` or `S3Unfit`.
 */
export async function openTarget(
  variables: Variables,
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
  signal: AbortSignal,
): Promise<Target> {
  const { redis: place, s3, ...settings } = SETTINGS.read(variables)
  await using stack = new AsyncDisposableStack()
  const artifacts = stack.use(await openS3ArtifactStore({ ...s3, clock, ids }, signal))
  const redis = stack.use(await connectRedis({ ...place, clock, callMsMax: REDIS_SETTINGS_CALL_MS_MAX }, signal))
  const publisher = await openRedisPublisher({ redis, ids }, signal)
  const owned = stack.move()
  return {
    ...settings,
    publisher,
    artifacts,
    serviceBucket: s3.namespace.bucket,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
