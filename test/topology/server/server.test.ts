/** That the servers of the tests start, serve, keep their data, and leave nothing behind. */
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { hasServer } from './binary.ts'
import { startRedis } from './redis.ts'

describe.skipIf(!hasServer('redis'))('a Redis', () => {
  test.for([
    ['plain', {}],
    ['with a password', { password: 'a "quoted" secret/ö' }],
    ['with TLS', { tls: true }],
    ['with both', { tls: true, password: 'secret' }],
  ] as const)('%s serves', async ([, options]) => {
    await using server = await startRedis(options)
    const client = new Redis(server.url, server.tls ? { tls: server.tls } : {})
    expect(await client.set('a', '1')).toBe('OK')
    client.disconnect()
  })
})
