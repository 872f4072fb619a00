import { memoryRenderEnds } from '@platen/adapters/memory/render-ledger/render-ends.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { subscribe } from '@platen/adapters/redis/connect/subscription.ts'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { ENDS_CHANNEL, openRedisRenderEnds } from '@platen/adapters/redis/render-ledger/render-ends.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { expect, test } from 'vitest'
import { aManifest, aRecord, NEVER } from '../fixture/build.ts'
import { redisSettings } from '../topology/server/redis.ts'
import { type Harness, memoryHarness } from './harness.ts'
import { describeOnRedis, type RedisFixture } from './redis-harness.ts'
import { describeRenderEnds, type EndsAndLedger, looked } from './render-ends.suite.ts'

/** How long a Redis may be silent in these tests before it counts as down. */
const AWAY_AFTER_MS = 300

describeRenderEnds('memory', () => memoryHarness(() => memoryRenderEnds(memoryRenderLedger(systemClock()))))

describeOnRedis('on a real server', (redis) => {
  describeRenderEnds('redis, between two processes', () => between(redis))

  test.for<[string, (connection: RedisConnection) => Promise<unknown>]>([
    [
      'its connection broke',
      (connection) => connection.call((client) => client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'), NEVER),
    ],
    [
      'Redis was away',
      async ({ health }) => {
        redis.server().pause()
        await new Promise((resolve) => health.watch(resolve))
        redis.server().resume()
      },
    ],
  ])(
    'a process that may have missed ends, because %s, wakes everybody and is told again',
    async ([, disturb], { signal }) => {
      await using connection = await connectRedis(redisSettings(redis.server(), AWAY_AFTER_MS), signal)
      using ends = await openRedisRenderEnds(connection, signal)
      const [missed, later] = [aRecord(), aRecord()]
      using pending = await looked(ends.expect(missed.id), signal)
      await disturb(connection)
      await pending.mayHaveEnded(signal)
      using next = await looked(ends.expect(later.id), signal)
      await using other = await redis.connect()
      await redisRenderLedger(other).complete(aManifest({ record: later }), signal)
      await next.mayHaveEnded(signal)
    },
  )

  test('a render that ends a second time is told of once', async ({ signal }) => {
    await using connection = await redis.emptied()
    const [ledger, twice, last] = [redisRenderLedger(connection), aRecord(), aRecord()]
    const told: string[] = []
    const { promise: all, resolve } = Promise.withResolvers<void>()
    const onMessage = (id: string) => {
      told.push(id)
      if (id === last.id) resolve()
    }
    using _ = await subscribe(connection, { channel: ENDS_CHANNEL, onMessage, onReconnect: resolve }, signal)
    for (const record of [twice, twice, last]) await ledger.complete(aManifest({ record }), signal)
    await all
    expect(told).toEqual([twice.id, last.id])
  })
})

/** The ledger is that of another process than the one in which callers wait. */
async function between(redis: RedisFixture): Promise<Harness<EndsAndLedger>> {
  const stack = new AsyncDisposableStack()
  const harness = stack.use(await redis.harness((connection) => connection))
  return {
    async open() {
      const own = await harness.open()
      const other = stack.use(await redis.connect())
      return { ends: stack.use(await openRedisRenderEnds(own, NEVER)), ledger: redisRenderLedger(other) }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
