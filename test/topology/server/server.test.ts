/** Tests that the servers start, serve, keep their data, and leave nothing behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { describe, expect, test } from 'vitest'
import { hasServer } from './binary.ts'
import { startKafka } from './kafka.ts'
import { type Place, startServer } from './process.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { startS3 } from './s3.ts'

describe.skipIf(!hasServer('redis'))('a Redis', () => {
  test.for([
    ['plain', {}],
    ['with a password', { password: 'a "quoted" secret/ö' }],
    ['with TLS', { tls: true }],
    ['with both', { tls: true, password: 'secret' }],
  ] as const)('%s serves', async ([, options]) => {
    await using server = await startRedis(options)
    expect(await ask(server, (client) => client.set('a', '1'))).toBe('OK')
  })

  test('with a password serves nobody without it', async () => {
    await using server = await startRedis({ password: 'secret' })
    const stranger = { ...server, url: server.url.replace(':secret@', '') }
    await expect(ask(stranger, (client) => client.get('a'))).rejects.toThrow('NOAUTH')
  })

  test.for(['stop', 'kill'] as const)('has what it had when it starts again after a %s', async (end) => {
    await using server = await startRedis()
    await ask(server, (client) => client.set('a', '1'))
    await server[end]()
    await expect(ask(server, (client) => client.get('a'))).rejects.toThrow('ECONNREFUSED')
    await server.start()
    expect(await ask(server, (client) => client.get('a'))).toBe('1')
  })

  test('that is paused answers when it is resumed, and can be stopped', async () => {
    await using server = await startRedis()
    const client = new Redis(server.url)
    await client.ping()
    server.pause()
    const silence = sleep(200, 'silence' as const)
    const answer = client.ping()
    expect(await Promise.race([answer, silence])).toBe('silence')
    server.resume()
    expect(await answer).toBe('PONG')
    client.disconnect()
    server.pause()
    await server.stop()
  })

  test('goes with its data when the process that started it is killed', async () => {
    const script = `
      import { startRedis } from ${JSON.stringify(join(import.meta.dirname, 'redis.ts'))}
      const server = await startRedis()
      console.log(server.port)`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [port] = await once(createInterface(child.stdout), 'line')
    const url = `redis://127.0.0.1:${port}`
    const folder = await ask({ url, tls: undefined }, async (client) => (await client.config('GET', 'dir')).at(1))
    expect(existsSync(`${folder}`)).toBe(true)
    child.kill('SIGKILL')
    // If the guard fails, the time limit of the test ends this loop.
    while (existsSync(`${folder}`)) await sleep(20)
    await expect(ask({ url, tls: undefined }, (client) => client.ping())).rejects.toThrow('ECONNREFUSED')
  })
})

describe.skipIf(!hasServer('s3'))('an S3', () => {
  test('serves, and nobody who is a stranger', async () => {
    await using server = await startS3(['one', 'two'])
    const answer = await fetch(`${server.endpoint}/one`)
    expect([answer.status, await answer.text()]).toStrictEqual([403, expect.stringContaining('<Code>AccessDenied')])
  })
})

describe.skipIf(!hasServer('kafka'))('a Kafka', () => {
  test('keeps a record over a kill, and hands it out', async () => {
    await using server = await startKafka()
    const kafka = new Kafka({ brokers: [server.broker], logLevel: logLevel.NOTHING })
    const admin = kafka.admin()
    await admin.createTopics({ topics: [{ topic: 'render', numPartitions: 1 }], waitForLeaders: true })
    await admin.disconnect()
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({ topic: 'render', messages: [{ value: 'a record' }], acks: -1 })
    await producer.disconnect()

    await server.kill()
    await server.start()
    const consumer = kafka.consumer({ groupId: 'test' })
    await consumer.subscribe({ topic: 'render', fromBeginning: true })
    const record = Promise.withResolvers<string | undefined>()
    await consumer.run({ eachMessage: async ({ message }) => record.resolve(message.value?.toString()) })
    expect(await record.promise).toBe('a record')
    await consumer.disconnect()
  })
})

describe('a server', () => {
  const neverReady = { name: 'fake', isReady: async () => false }
  const shell = (script: string) => ({ path: '/bin/sh', args: ['-c', script] })

  test('that does not come up is reported with the end of its log, and leaves no folder', async () => {
    const places: Place[] = []
    const command = (place: Place) => {
      places.push(place)
      return shell('echo "there is no such option" >&2; exit 3')
    }
    const starting = startServer({ ...neverReady, command })
    await expect(starting).rejects.toThrow(/fake did not start.*there is no such option/s)
    expect(places.map(({ folder }) => existsSync(folder))).toStrictEqual([false])
  })

  test('whose port was taken meanwhile is started on another', async () => {
    const ports: number[] = []
    const isReady = async () => ports.length > 1
    const command = ({ port }: Place) => {
      ports.push(port)
      return shell(ports.length > 1 ? 'exec sleep 60' : 'echo "bind: Address already in use"; sleep 0.2; exit 1')
    }
    await using server = await startServer({ ...neverReady, isReady, command })
    expect(server.port).toBe(ports.at(1))
  })
})

async function ask<T>(server: Pick<RedisServer, 'url' | 'tls'>, question: (client: Redis) => Promise<T>): Promise<T> {
  const once = { maxRetriesPerRequest: 0, retryStrategy: () => null, lazyConnect: true }
  const client = new Redis(server.url, { ...once, ...(server.tls && { tls: server.tls }) })
  // A failed connection only rejects with "closed". The reason comes as an event.
  const faults: Error[] = []
  client.on('error', (error) => faults.push(error))
  try {
    await client.connect()
    return await question(client)
  } catch (cause) {
    throw faults.at(0) ?? cause
  } finally {
    client.disconnect()
  }
}
