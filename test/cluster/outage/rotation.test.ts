/**
 * Every key, credential and certificate is rotated while renders are requested, and processes are replaced meanwhile, as in a rollout. The
 * servers then refuse the old ones. docs/rotation.md has the same steps in the same order.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { poll } from '../../time/poll.ts'
import { aCertificate, anAuthority, type Certificate, presented, type ServerIdentity } from '../../topology/host.ts'
import type { Received } from '../../topology/receiver.ts'
import { type KafkaServer, startKafka } from '../../topology/server/kafka.ts'
import { type RedisServer, startRedis } from '../../topology/server/redis.ts'
import { type S3Server, startS3 } from '../../topology/server/s3.ts'
import { eventsIn } from '../harness.ts'
import { aRotationScene, FOLLOWING, metricOf, portsOf, type RotationScene, type Secret } from './rotation-scene.ts'

const newKey = () => randomBytes(32).toString('base64url')
const newSealKey = () => randomBytes(32).toString('base64')

/** The old and the new CA of the servers, and of the clients. */
const SERVERS = { old: anAuthority(), next: anAuthority() }
const CLIENTS = { old: anAuthority(), next: anAuthority() }
const SERVICES = ['PLATEN_REDIS', 'PLATEN_KAFKA', 'PLATEN_S3']
/** Those that ask for client certificates. */
const ASKING = ['PLATEN_REDIS', 'PLATEN_KAFKA']

/** An identity of a server by a CA, that accepts clients of such CAs. */
function identityBy(issuer: Certificate, ...clients: readonly Certificate[]): ServerIdentity {
  const name = 'server.example.test'
  const own = aCertificate({ name, addresses: ['127.0.0.1'], issuer })
  return { ...own, name, ca: issuer.cert, clientsCa: joined(clients) }
}

/** The CA files of the three services. */
function trusting(...cas: readonly Certificate[]): Secret {
  return Object.fromEntries(SERVICES.map((service) => [`${service}_CA`, joined(cas)]))
}

/** The files of a client certificate. */
function showing({ cert, key }: Certificate): Secret {
  return Object.fromEntries(
    ASKING.flatMap((service) => [
      [`${service}_CERT`, cert],
      [`${service}_KEY`, key],
    ]),
  )
}

function joined(certificates: readonly Certificate[]): string {
  return certificates.map(({ cert }) => cert).join('')
}

const stack = new AsyncDisposableStack()
let servers: { readonly redis: RedisServer; readonly kafka: KafkaServer; readonly s3: S3Server }
/** A connection of the test's own to Redis, which stays open. */
let redis: Redis
let scene: RotationScene

beforeAll(async () => {
  const client = aCertificate({ name: 'client.example.test', issuer: CLIENTS.old })
  const identity = identityBy(SERVERS.old, CLIENTS.old)
  const [redisServer, kafka, s3] = await Promise.all([
    startRedis({ password: 'first', tls: identity, client }).then((each) => stack.use(each)),
    startKafka({ secured: identity }).then((each) => stack.use(each)),
    startS3(['platen'], { hasAccounts: true, tls: identity }).then((each) => stack.use(each)),
  ])
  servers = { redis: redisServer, kafka, s3 }
  redis = new Redis(redisServer.url, { tls: { ca: identity.ca, ...client } })
  stack.defer(() => redis.disconnect())
  await s3.addAccount({ accessKeyId: 'first', secretAccessKey: 'first secret' })
  await kafka.addUser({ username: 'first', password: 'first secret' })
  const settings = {
    PLATEN_KAFKA_TLS: 'true',
    PLATEN_KAFKA_SASL: 'scram-sha-256',
    // Those of the root account would work for ever.
    AWS_ACCESS_KEY_ID: '',
    AWS_SECRET_ACCESS_KEY: '',
  }
  const secret = {
    PLATEN_ID_KEYS: newKey(),
    PLATEN_EVENT_KEY: newKey(),
    PLATEN_SEAL_KEY: newSealKey(),
    PLATEN_REDIS_URL: redisServer.url,
    PLATEN_S3_ACCESS_KEY_ID: 'first',
    PLATEN_S3_SECRET_ACCESS_KEY: 'first secret',
    PLATEN_KAFKA_USERNAME: 'first',
    PLATEN_KAFKA_PASSWORD: 'first secret',
    ...trusting(SERVERS.old),
    ...showing(client),
  }
  scene = stack.use(await aRotationScene(servers, settings, secret))
})
afterAll(() => stack.disposeAsync())

/** Gives every server another certificate. Kafka and Redis accept client certificates of these CAs. */
async function present(issuer: Certificate, ...clients: readonly Certificate[]): Promise<void> {
  const identity = identityBy(issuer, ...clients)
  const words = await servers.redis.writeIdentity(identity)
  await redis.call('CONFIG', 'SET', ...words)
  await Promise.all([
    presented(servers.redis.port, identity),
    servers.kafka.present(identity),
    servers.s3.present(identity),
  ])
}

/** Closes the connections from before a change, as Redis keeps them. */
async function closeRedisConnections(): Promise<void> {
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes')
}

test('id keys, amid a rollout', async () => {
  const { load, change, rollOut, secret } = scene
  await load.more()
  const [old, next] = [secret()['PLATEN_ID_KEYS'] ?? '', newKey()]
  // A process has the new files from its start, while the other one still reads the old ones.
  await Promise.all([rollOut('api'), change({ PLATEN_ID_KEYS: `${old},${next}` }, ['api'])])
  await Promise.all([rollOut('api'), change({ PLATEN_ID_KEYS: `${next},${old}` }, ['api'])])
  await load.more()
})

test('the event key, while a renderer is killed', async () => {
  const { cluster, load, change } = scene
  const [, second] = cluster.processes('renderer')
  const changing = change({ PLATEN_EVENT_KEY: newKey() }, ['renderer'])
  // A killed renderer leaves renders whose event the other one makes again, with another key.
  await second?.kill()
  await second?.start()
  await changing
  await load.more()
})

test('the seal key', async () => {
  const { cluster, load, change, rollOut, secret } = scene
  const [old, next] = [secret()['PLATEN_SEAL_KEY'] ?? '', newSealKey()]
  const [publish] = cluster.processes('publish')
  const counts = (key: string) =>
    Promise.all(
      portsOf(cluster, 'events').map((port) => metricOf(port, `platen_webhook_secrets{sealed_with="${key}"}`)),
    )
  await change({ PLATEN_SEAL_KEY: `${old},${next}` }, ['events'])
  await change({ PLATEN_SEAL_KEY: `${next},${old}` }, ['events'])
  expect(await counts('older')).toEqual([1, 1])
  await rollOut('events')
  await publish?.stop()
  await publish?.start()
  await poll(() => counts('older')).until((older) => older.every((count) => count === 0))
  expect(await counts('first')).toEqual([1, 1])
  await change({ PLATEN_SEAL_KEY: next }, ['events'])
  expect(await counts('unknown')).toEqual([0, 0])
  await load.more()
})

test('the password of Redis', async () => {
  const { cluster, load, change } = scene
  await redis.call('ACL', 'SETUSER', 'default', '>second')
  await change({ PLATEN_REDIS_URL: servers.redis.url.replace('first', 'second') })
  await redis.call('ACL', 'SETUSER', 'default', '<first')
  await closeRedisConnections()
  await load.more()
  for (const port of FOLLOWING.flatMap((name) => portsOf(cluster, name)))
    await poll(() => metricOf(port, 'platen_dependency_up{dependency="redis"}')).until((isUp) => isUp === 1)
})

test('the access key of S3', async () => {
  const { load, change } = scene
  await servers.s3.addAccount({ accessKeyId: 'second', secretAccessKey: 'second secret' })
  await change({ PLATEN_S3_ACCESS_KEY_ID: 'second', PLATEN_S3_SECRET_ACCESS_KEY: 'second secret' })
  await servers.s3.removeAccount('first')
  await load.more()
})

test('the CA of Redis, Kafka and S3', async () => {
  const { load, change, rollOut } = scene
  await change(trusting(SERVERS.old, SERVERS.next))
  await present(SERVERS.next, CLIENTS.old)
  await closeRedisConnections()
  await rollOut('renderer')
  await load.more()
  await change(trusting(SERVERS.next))
  await closeRedisConnections()
  await rollOut('api')
  await load.more()
})

test('the client certificates for Redis and Kafka, and their CA', async () => {
  const { load, change, rollOut } = scene
  await present(SERVERS.next, CLIENTS.old, CLIENTS.next)
  await change(showing(aCertificate({ name: 'client.example.test', issuer: CLIENTS.next })))
  await closeRedisConnections()
  await rollOut('events')
  await load.more()
  await present(SERVERS.next, CLIENTS.next)
  await closeRedisConnections()
  await load.more()
})

test('the user of Kafka, whose connections end with their processes', async () => {
  const { load, change, rollOut } = scene
  await servers.kafka.addUser({ username: 'second', password: 'second secret' })
  await change({ PLATEN_KAFKA_USERNAME: 'second', PLATEN_KAFKA_PASSWORD: 'second secret' })
  for (const name of FOLLOWING) await rollOut(name, name)
  // Takes the rights of its connections, too, so none may be left.
  await servers.kafka.removeUser('first')
  await load.more()
})

function isSigned({ headers, body }: Received, webhookSecret: string): boolean {
  const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']]
  const signature = createHmac('sha256', webhookSecret).update(`${String(id)}.${String(timestamp)}.${body}`)
  return headers['webhook-signature'] === `v1,${signature.digest('base64')}`
}

test('meanwhile, no render is refused or lost, no event has two ids, and no webhook is unsigned', async ({
  signal,
}) => {
  const { cluster, receiver, load } = scene
  await load.end()
  const webhookIdsOf = () => Map.groupBy(receiver.received, ({ body }) => String(Object(JSON.parse(body)).id))
  await poll(() => webhookIdsOf().size).until((count) => count === load.ids.length)
  for (const calls of webhookIdsOf().values())
    expect(new Set(calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  const webhookSecret = (await readFile(join(cluster.dataDir, 'webhook-secrets/acme'), 'utf8')).trim()
  expect(receiver.received.filter((call) => !isSigned(call, webhookSecret))).toEqual([])
  const count = load.ids.length + load.statuses.length
  const reachable = { ...cluster, broker: servers.kafka.unsecured }
  const read = async () => Map.groupBy(await eventsIn(reachable, count, signal), ({ manifest }) => manifest.render.id)
  // One may be there twice before that of a sync render, whose caller was answered before, is there.
  const eventIdsOf = await poll(read).until(({ size }) => size >= count)
  expect(eventIdsOf.size).toBe(count)
  expect([...eventIdsOf.values()].filter((each) => new Set(each.map(({ id }) => id)).size !== 1)).toEqual([])
})
