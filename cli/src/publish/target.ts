import { type InstalledArtifactStore, openArtifactStore } from '@platen/adapters/open-artifact-store.ts'
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { openRedisPublisher, type RedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { followSettings } from '@platen/adapters/setting/follow.ts'
import type { Variables } from '@platen/adapters/setting/setting.ts'
import { REDIS_SETTINGS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { SealKeys } from '@platen/lib/seal.ts'
import { SETTINGS } from './setting.ts'

interface Target extends AsyncDisposable, InstalledArtifactStore {
  readonly publisher: RedisPublisher
  readonly dataDir: string
  readonly brand: string
  readonly sealKeys: SealKeys
}

interface TargetPorts {
  readonly variables: Variables
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly print: (text: string) => void
}

/**
 * Opens the stores that the environment names, and fences any earlier publisher. Throws `ConfigError` naming every wrong setting,
 * `Unavailable` or `ArtifactStoreUnfit`.
 */
export async function openTarget(
  { variables, clock, ids, log, print }: TargetPorts,
  signal: AbortSignal,
): Promise<Target> {
  await using stack = new AsyncDisposableStack()
  const followed = stack.use(followSettings(SETTINGS, variables, { clock, log }))
  const { redis: place, ...settings } = followed.latest()
  const store = await openArtifactStore(settings, { clock, ids, latest: () => followed.latest().s3 }, signal)
  stack.use(store.artifacts)
  const latest = () => followed.latest().redis
  const redis = stack.use(
    await connectRedis({ ...place, clock, latest, callMsMax: REDIS_SETTINGS_CALL_MS_MAX }, signal),
  )
  const onLost = (revision: number) => print(`published revision ${revision} again: Redis had lost it\n`)
  const publisher = await openRedisPublisher({ redis, ids, onLost }, signal)
  const owned = stack.move()
  return {
    ...settings,
    publisher,
    ...store,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
