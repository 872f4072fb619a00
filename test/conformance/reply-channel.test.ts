import { getEventListeners, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { memoryReplyChannel } from '@platen/adapters/memory/reply-channel.ts'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { REPLY_KEPT_MS } from '@platen/adapters/redis/limit.ts'
import { REPLY_PART_BYTES_MAX } from '@platen/adapters/redis/reply-bus.ts'
import { openRedisReplyChannel } from '@platen/adapters/redis/reply-channel.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Reply, ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import { expect, test, vi } from 'vitest'
import { aRenderId, aReply, NEVER } from '../fixture/build.ts'
import { redisSettings, startRedis } from '../topology/server/redis.ts'
import { type Harness, memoryHarness, opened, PATIENCE } from './harness.ts'
import { describeOnRedis, type RedisFixture } from './redis-harness.ts'
import { describeReplyChannel } from './reply-channel.suite.ts'

/** How long a Redis may be silent in these tests before it counts as down. */
const AWAY_AFTER_MS = 300
const FAILED: Reply = { kind: 'failed', error: { code: 'render_timeout', message: 'took 25 s' }, durationMs: 25_000 }

describeReplyChannel('memory', () => memoryHarness(memoryReplyChannel))

describeOnRedis('on a real server', (redis) => {
  describeReplyChannel('redis, between two processes', () => between(redis))

  test('a reply of 9 MB is brought as it is', async ({ signal }) => {
    const replies = await opened(between(redis))
    const id = aRenderId()
    using pending = replies.expect(id)
    const pdf = Uint8Array.from({ length: 9_000_000 }, (_, i) => i % 251)
    await replies.reply(id, aReply(pdf, { durationMs: 120 }), signal)
    const reply = await pending.reply(signal)
    expect(reply.kind === 'rendered' && Buffer.compare(Buffer.concat(reply.pdf), pdf)).toBe(0)
    await using operator = await redis.connect()
    await vi.waitFor(async () => {
      expect(await operator.call((client) => client.keys('*:part:*'), signal)).toEqual([])
    }, PATIENCE)
  })

  test('a reply of several parts is brought over TLS', async ({ signal }) => {
    await using server = await startRedis({ tls: true })
    await using connection = await connectRedis(redisSettings(server), signal)
    await using replies = await openRedisReplyChannel(connection, signal)
    const id = aRenderId()
    using pending = replies.expect(id)
    const pdf = Uint8Array.from({ length: 2 * REPLY_PART_BYTES_MAX + 1 }, (_, i) => i % 251)
    await replies.reply(id, aReply(pdf, { durationMs: 120 }), signal)
    const reply = await pending.reply(signal)
    expect(reply.kind === 'rendered' && Buffer.compare(Buffer.concat(reply.pdf), pdf)).toBe(0)
  })

  test('two answers to one render write nothing into each other', async ({ signal }) => {
    await using connection = await redis.emptied()
    await using replies = await openRedisReplyChannel(connection, signal)
    const [id, pdf] = [aRenderId(), new Uint8Array(REPLY_PART_BYTES_MAX + 1)]
    for (const durationMs of [1, 2]) await replies.reply(id, aReply(pdf, { durationMs }), signal)
    const keys = await connection.call((client) => client.keys('*:part:*'), signal)
    const parts = ['1:0', '1:1', '2:0', '2:1'].map((part) => `platen:reply:{${id}}:part:${part}`)
    expect(keys.toSorted()).toEqual(parts)
    for (const key of await connection.call((client) => client.keys('*'), signal))
      expect([key, (await connection.call((client) => client.pttl(key), signal)) > 0]).toEqual([key, true])
  })

  test('what is sent while nobody receives arrives once the connections are back', async ({ signal }) => {
    await using harness = await between(redis)
    await using operator = await redis.connect()
    const replies = await harness.open()
    const [answered, taken, left] = [aRenderId(), aRenderId(), aRenderId()]
    using one = replies.expect(answered)
    using two = replies.expect(taken)
    const three = replies.expect(left)
    const departure = replies.callerGone(left, signal)
    await operator.call((client) => client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'), signal)
    await replies.reply(answered, FAILED, signal)
    replies.notifyStarted(taken)
    three[Symbol.dispose]()
    expect(await one.reply(signal)).toStrictEqual(FAILED)
    await two.started(signal)
    await aborted(departure)
  })

  test.for<[string, (operator: RedisConnection, id: RenderId) => Promise<unknown>]>([
    [
      'the connection on which it receives',
      (operator) => operator.call((client) => client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'), NEVER),
    ],
    [
      'the answer itself, when Redis has been emptied',
      (operator, id) => operator.call((client) => client.publish('platen:reply', `answered ${id}`), NEVER),
    ],
  ])('a caller whose channel has lost %s is told so', async ([, lose], { signal }) => {
    await using harness = await between(redis)
    await using operator = await redis.connect()
    const replies = await harness.open()
    const id = aRenderId()
    using pending = replies.expect(id)
    await lose(operator, id)
    await pending.broken(signal)
    await replies.reply(id, FAILED, signal)
    expect(await pending.reply(signal)).toStrictEqual(FAILED)
  })

  test('a channel whose Redis is away says so to those who wait and those who come, and receives again when it is back', async ({
    signal,
  }) => {
    await using connection = await connectRedis(redisSettings(redis.server(), AWAY_AFTER_MS), signal)
    await using replies = await openRedisReplyChannel(connection, signal)
    const id = aRenderId()
    using waiting = replies.expect(id)
    redis.server().pause()
    await waiting.broken(signal)
    using late = replies.expect(aRenderId())
    await late.broken(signal)
    const back = new Promise((resolve) => connection.health.watch(resolve))
    redis.server().resume()
    await back
    await replies.reply(id, FAILED, signal)
    await waiting.reply(signal)
    // It receives again, but the sending side may not know yet that Redis is back.
    expect(await isBroken(replies)).toBe(true)
    await vi.waitFor(() => expect(isBroken(replies)).resolves.toBe(false), PATIENCE)
  })

  test('a channel that closes while it connects again leaves no rejection that nobody handles', async ({ signal }) => {
    await using connection = await redis.connect()
    const client = await connection.openClient(signal)
    const replies = await openRedisReplyChannel({ ...connection, openClient: async () => client }, signal)
    await using operator = await redis.connect()
    const ended = new Promise((resolve) => client.once('end', resolve))
    const info = client.info.bind(client)
    const asked = new Promise<void>((resolve) => {
      vi.spyOn(client, 'info').mockImplementation((...given) => {
        // The client is connected, and checks whether Redis is ready.
        const answer = info(...given)
        resolve(replies[Symbol.asyncDispose]())
        return answer
      })
    })
    await operator.call((each) => each.call('CLIENT', 'KILL', 'TYPE', 'pubsub'), signal)
    await asked
    await ended
    // An unhandled rejection would fail the run.
    expect(client.status).toBe('end')
  })

  test('nothing is left of what was said but keys that expire, and no answer that was read', async ({ signal }) => {
    await using connection = await redis.emptied()
    await using replies = await openRedisReplyChannel(connection, signal)
    const [read, unread, left] = [aRenderId(), aRenderId(), aRenderId()]
    const pending = replies.expect(read)
    replies.notifyStarted(read)
    await replies.reply(read, FAILED, signal)
    await pending.reply(signal)
    pending[Symbol.dispose]()
    await replies.reply(unread, FAILED, signal)
    replies.expect(left)[Symbol.dispose]()
    await replies.reply(left, FAILED, signal)
    const keys = await connection.call((client) => client.keys('*'), signal)
    const expected = [`{${read}}:taken`, `{${unread}}:answered`, `{${left}}:gone`].map((key) => `platen:reply:${key}`)
    expect(keys.toSorted()).toEqual(expected.toSorted())
    for (const key of keys) {
      const keptMs = await connection.call((client) => client.pttl(key), signal)
      expect([key, keptMs > 0 && keptMs <= REPLY_KEPT_MS]).toEqual([key, true])
    }
  })

  test('a renderer that comes when all has been said is told that the caller has gone', async ({ signal }) => {
    const replies = await opened(between(redis))
    const [id, other] = [aRenderId(), aRenderId()]
    const witness = replies.callerGone(other, signal)
    replies.expect(id)[Symbol.dispose]()
    replies.expect(other)[Symbol.dispose]()
    await aborted(witness)
    await aborted(replies.callerGone(id, signal))
  })

  test('a departure is over, and its listener freed, when the render was answered', async ({ signal }) => {
    const replies = await opened(between(redis))
    const until = new AbortController()
    const id = aRenderId()
    const departure = replies.callerGone(id, until.signal)
    expect(getEventListeners(until.signal, 'abort')).toHaveLength(1)
    await replies.reply(id, FAILED, signal)
    expect(getEventListeners(until.signal, 'abort')).toHaveLength(0)
    replies.expect(id)[Symbol.dispose]()
    await aborted(replies.callerGone(id, signal))
    expect(departure.aborted).toBe(false)
  })
})

/** Would a new caller learn that replies may be lost? */
async function isBroken(replies: ReplyChannel): Promise<boolean> {
  using pending = replies.expect(aRenderId())
  const stop = new AbortController()
  const outcome = pending.broken(stop.signal).then(
    () => true,
    () => false,
  )
  // A problem that is already known is reported before this.
  await setImmediate()
  stop.abort()
  return await outcome
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Builds a channel whose API side and renderer side have different connections, as if they were in different processes. */
async function between(redis: RedisFixture): Promise<Harness<ReplyChannel>> {
  const harness = await redis.harness((connection) => connection)
  const other = await redis.connect()
  const opened: AsyncDisposable[] = [other]
  const open = async (connection: RedisConnection) => {
    const channel = await openRedisReplyChannel(connection, AbortSignal.timeout(20_000))
    opened.unshift(channel)
    return channel
  }
  return {
    async open() {
      const [api, renderer] = [await open(await harness.open()), await open(other)]
      return {
        expect: (id) => api.expect(id),
        notifyStarted: (id) => renderer.notifyStarted(id),
        reply: (id, reply, signal) => renderer.reply(id, reply, signal),
        callerGone: (id, until) => renderer.callerGone(id, until),
      }
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each[Symbol.asyncDispose]()
      await harness[Symbol.asyncDispose]()
    },
  }
}
