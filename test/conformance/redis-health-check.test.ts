/** Tests what a process knows of a Redis that is down, and what its calls do then. */
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { hasServer } from '../topology/server/binary.ts'
import { type RedisServer, redisSettings, startRedis } from '../topology/server/redis.ts'
import { PATIENCE } from './harness.ts'

/** Short, so that tests are short: they wait for changes that the health check reports. */
const CALL_MS_MAX = 300
/** Timeout of a connection on which only the health check ends a call. */
const FOREVER_MS = 600_000

interface Scene {
  readonly server: RedisServer
  readonly redis: RedisConnection
  /** Sends a command on a connection that ignores the health check. */
  readonly ask: (...command: readonly [string, ...string[]]) => Promise<unknown>
}

/** Ways to take Redis down and bring it back. */
const WAYS: Readonly<Record<string, readonly [leave: (scene: Scene) => unknown, come: (scene: Scene) => unknown]>> = {
  wedged: [({ server }) => server.pause(), ({ server }) => server.resume()],
  killed: [({ server }) => server.kill(), ({ server }) => server.start()],
  // Nobody listens at the address of the master.
  'a replica': [({ ask }) => ask('REPLICAOF', '127.0.0.1', '1'), ({ ask }) => ask('REPLICAOF', 'NO', 'ONE')],
  'out of memory': [
    ({ ask }) => ask('CONFIG', 'SET', 'maxmemory', '1'),
    ({ ask }) => ask('CONFIG', 'SET', 'maxmemory', '0'),
  ],
}

describe.skipIf(!hasServer('redis'))('the pulse of a Redis', () => {
  let scene: Scene
  beforeEach(async ({ signal }) => {
    const own = new AsyncDisposableStack()
    const server = own.use(await startRedis())
    const operator = own.adopt(
      await own.use(await connectRedis(redisSettings(server), signal)).openClient(signal),
      (client) => client.disconnect(),
    )
    const redis = own.use(await connectRedis(redisSettings(server, CALL_MS_MAX), signal))
    scene = { server, redis, ask: (name, ...words) => operator.call(name, ...words) }
    return () => own.disposeAsync()
  })

  test.for(Object.entries(WAYS))(
    '%s: is found to be away and to be back, and calls go by that',
    async ([, [leave, come]], { signal }) => {
      const { redis } = scene
      const left = changeOf(redis)
      await leave(scene)
      expect(await left).toBeInstanceOf(Error)
      const ping = () => redis.call((client) => client.ping(), signal)
      await expect(ping()).rejects.toThrow(new Unavailable('Redis is unavailable'))
      const returned = changeOf(redis)
      await come(scene)
      expect(await returned).toBe(undefined)
      await vi.waitFor(async () => expect(await ping()).toBe('PONG'), PATIENCE)
    },
  )

  test('ends the calls of every line that are under way when it goes away', async ({ signal }) => {
    const { redis, server } = scene
    await using line = await redis.duplicate(FOREVER_MS, signal)
    const left = changeOf(redis)
    const asked = line.call((client) => client.brpop('nothing', 0), signal)
    server.pause()
    await expect(asked).rejects.toThrow(new Unavailable('Redis is unavailable'))
    await left
    await expect(line.call((client) => client.ping(), signal)).rejects.toThrow(new Unavailable('Redis is unavailable'))
    server.resume()
  })

  test('a process that stood still holds nothing against Redis', async ({ signal }) => {
    await using redis = await connectRedis(redisSettings(scene.server, CALL_MS_MAX), signal)
    const changes: (Error | undefined)[] = []
    redis.health.watch((reason) => changes.push(reason))
    // The first ping of the health check is under way, and so is this call.
    const asked = redis.call((client) => client.ping(), signal)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * CALL_MS_MAX)
    expect(await asked).toBe('PONG')
    expect([redis.health.isDown(), changes]).toEqual([false, []])
  })
})

/** Resolves at the next change, with the reason when Redis went down. */
function changeOf({ health }: RedisConnection): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const watch = health.watch((reason) => {
      watch[Symbol.dispose]()
      resolve(reason)
    })
  })
}
