/** Tests that the servers start, serve, keep their data, and leave nothing behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasServer, hasServers, KUBERNETES_SERVERS } from './binary.ts'
import { startKafka } from './kafka.ts'
import { type KubeServer, startKube } from './kube.ts'
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

describe.skipIf(!hasServers(KUBERNETES_SERVERS))('a Kubernetes API', () => {
  // Shared by the two tests that need no server of their own, because it takes seconds to start.
  let kube: KubeServer
  beforeAll(async () => {
    kube = await startKube({ personas: [{ name: 'alice', groups: ['team-acme'] }] })
  })
  afterAll(() => kube[Symbol.asyncDispose]())

  test('knows whom it was told of, and lets them do what they may', async () => {
    const user = await kube.kubectl(['auth', 'whoami', '--output=jsonpath={.status.userInfo}'], { as: 'alice' })
    expect(JSON.parse(user.stdout)).toMatchObject({ username: 'alice', groups: ['team-acme', 'system:authenticated'] })
    const refused = await kube.kubectl(['get', 'secrets'], { as: 'alice' })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('User "alice" cannot list') })
    expect(await kube.request({ path: '/api/v1/secrets', as: 'alice' })).toMatchObject({ status: 403 })
    expect(await kube.request({ path: '/api/v1/secrets' })).toMatchObject({ status: 200, body: { kind: 'SecretList' } })
    await expect(kube.kubectl([], { as: 'mallory' })).rejects.toThrow('was not told of mallory')
  })

  test('answers 410 when what it is asked of is forgotten', async () => {
    await using kube = await startKube({ flags: ['--watch-cache=false'] })
    const path = '/api/v1/namespaces/default/configmaps'
    const add = (name: string) => kube.request({ method: 'POST', path, body: { metadata: { name } } })
    await add('one')
    await add('two')
    const { body } = await kube.request({ path: `${path}?limit=1` })
    const { continue: rest = '', resourceVersion = '' } = { ...Object(body['metadata']) }
    // Compaction keeps the last revision.
    await add('three')
    await add('four')
    await kube.etcd.compact()
    const listed = await kube.request({ path: `${path}?limit=1&continue=${encodeURIComponent(rest)}` })
    expect(listed).toMatchObject({ status: 410, body: { reason: 'Expired' } })
    const watched = await kube.request({
      path: `${path}?watch=true&timeoutSeconds=5&resourceVersion=${resourceVersion}`,
    })
    expect(watched).toMatchObject({ status: 200, body: { type: 'ERROR', object: { code: 410 } } })
  })

  test('serves what is defined as soon as it is applied, and has it when it starts again after a kill', async () => {
    const file = join(kube.folder, 'press.yaml')
    await writeFile(file, PRESS)
    await kube.apply([file])
    const { code } = await kube.kubectl(['create', '--filename=-'], {
      stdin: 'apiVersion: example.test/v1\nkind: Press\nmetadata: {name: one}',
    })
    expect(code).toBe(0)
    await kube.kill()
    await expect(kube.request({ path: '/readyz' })).rejects.toThrow('ECONNREFUSED')
    await kube.start()
    const { stdout } = await kube.kubectl(['get', 'presses', '--output=name'])
    expect(stdout).toBe('press.example.test/one\n')
    await writeFile(file, PRESS.replace('Cluster', 'Nowhere'))
    await expect(kube.apply([file])).rejects.toThrow('spec.scope')
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

const PRESS = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: presses.example.test}
spec:
  group: example.test
  scope: Cluster
  names: {kind: Press, plural: presses}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`

async function ask<T>(server: Pick<RedisServer, 'url' | 'tls'>, question: (client: Redis) => Promise<T>): Promise<T> {
  const once = { maxRetriesPerRequest: 0, retryStrategy: () => null, lazyConnect: true }
  const client = new Redis(server.url, { ...once, ...(server.tls && { tls: server.tls }) })
  // A failed connection rejects with "closed" only. The reason comes as an event.
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
