/** Tests the connection to a Redis that fails. */
import { setImmediate } from 'node:timers/promises'
import { connectRedis, REDIS_CALLS_MAX, type RedisAddress, type RedisSettings } from '@platen/adapters/redis/connect.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { poll } from '../time/poll.ts'
import { aCertificate } from '../topology/host.ts'
import { hasServer } from '../topology/server/binary.ts'
import { redisSettings, startRedis } from '../topology/server/redis.ts'

const PING_MS_MAX = 300

describe.skipIf(!hasServer('redis'))('a connection to Redis', () => {
  test('speaks TLS and gives its password', async ({ signal }) => {
    await using server = await startRedis({ password: 'a "quoted" secret', tls: true })
    await using redis = await connectRedis(redisSettings(server), signal)
    expect(await redis.call((client) => client.ping(), signal)).toBe('PONG')
  })

  test('takes the credentials and the certificates of the moment at each connection', async ({ signal }) => {
    const client = aCertificate({ name: 'client.example.test' })
    await using server = await startRedis({ password: 'first', tls: true, client })
    let latest: RedisSettings = { ...redisSettings(server), tls: { ...server.tls, ...client } }
    await expect(connectRedis(redisSettings(server), signal)).rejects.toThrow(Unavailable)
    await using redis = await connectRedis({ ...redisSettings(server), ...latest, latest: () => latest }, signal)
    await redis.call((each) => each.call('ACL', 'SETUSER', 'default', '>second', '<first'), signal)
    const cut = () => redis.call((each) => each.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no'), signal)
    const ping = () => redis.call((each) => each.ping(), signal).catch(String)
    await cut().catch(() => undefined)
    await poll(ping).until((answer) => /WRONGPASS|unavailable|Connection/.test(answer))
    latest = { ...latest, password: 'second' }
    await poll(ping).until((answer) => answer === 'PONG')
    await using another = await redis.duplicate(5000, signal)
    expect(await another.call((each) => each.ping(), signal)).toBe('PONG')
  })

  test.for([
    ['a wrong password', { password: 'wrong' }, 'WRONGPASS'],
    ['no password', { password: undefined }, 'NOAUTH'],
    ['an authority it does not trust', { tls: {} }, 'self-signed certificate'],
    ['no TLS', { tls: undefined }, ''],
  ] as const)('is refused with %s, and says why', async ([, fields, reason], { signal }) => {
    await using server = await startRedis({ password: 'secret', tls: true })
    const connecting = connectRedis({ ...redisSettings(server), ...fields }, signal)
    await expect(connecting).rejects.toThrow(Unavailable)
    await expect(connecting).rejects.toThrow(new RegExp(`^cannot connect to Redis: .*${reason}`))
  })

  test('is refused where nobody listens', async ({ signal }) => {
    const server = await startRedis()
    await server[Symbol.asyncDispose]()
    const connecting = connectRedis(redisSettings(server), signal)
    await expect(connecting).rejects.toThrow(/ECONNREFUSED/)
    await expect(connecting).rejects.toThrow(Unavailable)
  })

  test.for([
    ['Sentinel', (address: RedisAddress) => ({ kind: 'sentinel', sentinels: [address], primary: 'main' }) as const],
    ['Cluster', (address: RedisAddress) => ({ kind: 'cluster', nodes: [address] }) as const],
  ] as const)('is refused where what answers is no %s', async ([, placeOf], { signal }) => {
    await using server = await startRedis()
    const location = placeOf({ host: server.host, port: server.port })
    await expect(connectRedis({ ...redisSettings(server), location }, signal)).rejects.toThrow(Unavailable)
  })

  test('gives a Redis up that does not answer in time, and takes it back', async ({ signal }) => {
    await using server = await startRedis()
    await using redis = await connectRedis(redisSettings(server, PING_MS_MAX), signal)
    server.pause()
    await expect(redis.call((client) => client.ping(), signal)).rejects.toThrow(Unavailable)
    server.resume()
    await untilAnswered(() => redis.call((client) => client.ping(), signal), signal)
  })

  test('fails calls while Redis is away, and answers when it is back', async ({ signal }) => {
    await using server = await startRedis()
    await using redis = await connectRedis(redisSettings(server), signal)
    await server.kill()
    await expect(redis.call((client) => client.ping(), signal)).rejects.toThrow(Unavailable)
    // By now the client knows of the failure, so the call fails at once and does not wait in a queue.
    await expect(redis.call((client) => client.ping(), signal)).rejects.toThrow(/isn't writeable/)
    await server.start()
    await untilAnswered(() => redis.call((client) => client.ping(), signal), signal)
  })

  test('stops waiting with the reason of the signal', async ({ signal }) => {
    await using server = await startRedis()
    await using redis = await connectRedis(redisSettings(server), signal)
    server.pause()
    const stop = new AbortController()
    const reason = new Error('gone')
    const asked = redis.call((client) => client.ping(), stop.signal)
    stop.abort(reason)
    await expect(asked).rejects.toBe(reason)
    server.resume()
  })

  test('lets no more calls wait than its limit', async ({ signal }) => {
    await using server = await startRedis()
    await using redis = await connectRedis(redisSettings(server), signal)
    server.pause()
    const asked = Array.from({ length: REDIS_CALLS_MAX }, () => redis.call((client) => client.ping(), signal))
    const further = redis.call((client) => client.ping(), signal)
    await expect(further).rejects.toThrow(Unavailable)
    await expect(further).rejects.toThrow(`${REDIS_CALLS_MAX} calls`)
    server.resume()
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['PONG']))
    expect(await redis.call((client) => client.ping(), signal)).toBe('PONG')
  })

  test('shows a mistake of ours as it is', async ({ signal }) => {
    await using server = await startRedis()
    await using redis = await connectRedis(redisSettings(server), signal)
    const asked = redis.call((client) => client.call('NONSENSE'), signal)
    await expect(asked).rejects.toThrow(/unknown command/)
    await expect(asked).rejects.not.toThrow(Unavailable)
  })
})

/** Repeats a call while it is unavailable: the client notices with a delay that Redis is back. */
async function untilAnswered(ask: () => Promise<string>, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const answer = await ask().catch((error: unknown) => {
      if (error instanceof Unavailable) return undefined
      throw error
    })
    if (answer !== undefined) return expect(answer).toBe('PONG')
    await setImmediate()
  }
}
