/** Harness of the suites on Redis: one real server for each file, emptied before each test. */
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { afterAll, assert, beforeAll, describe } from 'vitest'
import { hasServer } from '../topology/server/binary.ts'
import { type RedisServer, startRedis } from '../topology/server/redis.ts'
import type { Harness } from './harness.ts'

/** Far longer than any call takes, because the machine may be busy. Tests of the time limit set their own. */
const CALL_MS_MAX = 20_000

export interface RedisFixture {
  server(): RedisServer
  /** Opens a separate connection. The caller closes it. */
  connect(): Promise<RedisConnection>
  /** Builds the harness of a port in an empty Redis. */
  harness<Port>(portIn: (redis: RedisConnection) => Port | Promise<Port>): Promise<Harness<Port>>
}

/** Describes tests on a Redis. Skips them when there is none. */
export function describeOnRedis(name: string, body: (redis: RedisFixture) => void): void {
  describe.skipIf(!hasServer('redis'))(name, () => {
    let running: RedisServer | undefined
    beforeAll(async () => {
      running = await startRedis()
    })
    afterAll(async () => await running?.[Symbol.asyncDispose]())
    const server = () => {
      assert(running !== undefined, 'the server runs while tests do')
      return running
    }
    const connect = () => connectRedis(settingsOf(server()), AbortSignal.timeout(CALL_MS_MAX))
    body({ server, connect, harness: (portIn) => redisHarness(connect, portIn) })
  })
}

/** Returns the settings for connecting to a test server. */
export function settingsOf({ host, port, password, tls }: RedisServer, callMsMax = CALL_MS_MAX) {
  return {
    location: { kind: 'server', address: { host, port } },
    password,
    tls,
    callMsMax,
    clock: systemClock(),
  } as const
}

async function redisHarness<Port>(
  connect: () => Promise<RedisConnection>,
  portIn: (redis: RedisConnection) => Port | Promise<Port>,
): Promise<Harness<Port>> {
  const redis = await connect()
  await redis.call((client) => client.flushall(), AbortSignal.timeout(CALL_MS_MAX))
  return {
    open: async () => portIn(redis),
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  }
}
