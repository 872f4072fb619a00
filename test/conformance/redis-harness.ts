/** Harness of the suites on Redis: one real server for each file, emptied before each test. */
import { redisCheckpoints } from '@platen/adapters/redis/checkpoint.ts'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { LIST_CHECKPOINT_KEY } from '@platen/adapters/redis/render-list.ts'
import { describe } from 'vitest'
import { NEVER } from '../fixture/build.ts'
import { shared } from '../fixture/lifetime.ts'
import { hasServer } from '../topology/server/binary.ts'
import { type RedisServer, redisSettings, startRedis } from '../topology/server/redis.ts'
import type { Harness } from './harness.ts'

/** Far longer than any call takes, because the machine may be busy. Tests of the time limit set their own. */
const CALL_MS_MAX = 20_000

export interface RedisFixture {
  server(): RedisServer
  /** Opens a separate connection. The caller closes it. */
  connect(): Promise<RedisConnection>
  /** Empties the server and opens a connection. The caller closes it. */
  emptied(): Promise<RedisConnection>
  harness<Port>(portIn: (redis: RedisConnection) => Port | Promise<Port>): Promise<Harness<Port>>
}

/** Describes tests on a Redis. Skips them when there is none. */
export function describeOnRedis(name: string, body: (redis: RedisFixture) => void): void {
  describe.skipIf(!hasServer('redis'))(name, () => {
    const server = shared(() => startRedis())
    const connect = () => connectRedis(redisSettings(server()), AbortSignal.timeout(CALL_MS_MAX))
    const emptied = async () => {
      const redis = await connect()
      await redis.call((client) => client.flushall(), AbortSignal.timeout(CALL_MS_MAX))
      return redis
    }
    const harness: RedisFixture['harness'] = async (portIn) => {
      const redis = await emptied()
      return { open: async () => portIn(redis), [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() }
    }
    body({ server, connect, emptied, harness })
  })
}

/** Says that the lists in Redis have all events of a log with one partition. */
export async function completeLists(redis: RedisConnection): Promise<void> {
  const checkpoints = redisCheckpoints(redis, LIST_CHECKPOINT_KEY)
  const begun = await checkpoints.begin(0, { first: 0, end: 1, partitions: 1 }, NEVER)
  const applied = { to: 1, isCaughtUp: true, period: '2026-11', charged: new Map<string, number>() }
  await checkpoints.advance(begun, applied, NEVER)
}

/** How many calls of scripts Redis gets from what `act` does. */
export async function scriptCalls(connection: RedisConnection, act: () => Promise<unknown>): Promise<number> {
  await connection.call((client) => client.config('RESETSTAT'), NEVER)
  await act()
  const stats = await connection.call((client) => client.info('commandstats'), NEVER)
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1])
}
