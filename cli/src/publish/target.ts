/** The target of a publish: Redis and the artifact store that the environment names. */
import { resolve } from 'node:path'
import { type InstalledArtifactStore, openArtifactStore } from '@platen/adapters/open-artifact-store.ts'
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { openRedisPublisher, type RedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { readRedisSettings } from '@platen/adapters/setting/connection/redis.ts'
import { readS3Settings } from '@platen/adapters/setting/connection/s3.ts'
import { parseBrand } from '@platen/adapters/setting/parse.ts'
import { readSealKey } from '@platen/adapters/setting/seal.ts'
import { ConfigError, readSettings, type SettingReader, type Variables } from '@platen/adapters/setting/setting.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/redis-limit.ts'
import type { SealKey } from '@platen/contract/seal.ts'
import { UsageError } from '../diagnostic/diagnostic.ts'

export interface Target extends AsyncDisposable, InstalledArtifactStore {
  readonly publisher: RedisPublisher
  readonly dataDir: string
  readonly brand: string
  readonly sealKey: SealKey
}

/**
 * Opens the stores that the environment names, and fences any earlier publisher. Throws `UsageError` naming every wrong setting,
 * `Unavailable` or `ArtifactStoreUnfit`.
 */
export async function openTarget(
  variables: Variables,
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
  signal: AbortSignal,
): Promise<Target> {
  const { redis: place, s3, ...settings } = settingsIn(variables)
  await using stack = new AsyncDisposableStack()
  const store = await openArtifactStore({ s3 }, { clock, ids }, signal)
  stack.use(store.artifacts)
  const redis = stack.use(await connectRedis({ ...place, clock, callMsMax: REDIS_SETTINGS_CALL_MS_MAX }, signal))
  const publisher = await openRedisPublisher({ redis, ids }, signal)
  const owned = stack.move()
  return {
    ...settings,
    publisher,
    ...store,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function settingsIn(variables: Variables) {
  try {
    return readSettings(variables, readTarget)
  } catch (cause) {
    throw cause instanceof ConfigError ? new UsageError(cause.message, { cause }) : cause
  }
}

function readTarget(reader: SettingReader<string>) {
  const [redis, s3, sealKey] = [readRedisSettings(reader), readS3Settings(reader), readSealKey(reader)]
  const dataDir = reader.read('PLATEN_DATA_DIR', resolve, 'a path') ?? resolve('data')
  const brand = reader.read('PLATEN_BRAND', parseBrand, 'a word of small letters, at most 32') ?? 'service'
  return redis && s3 && sealKey && { redis, s3, sealKey, dataDir, brand }
}
