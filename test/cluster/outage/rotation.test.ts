/**
 * Every key and credential is rotated while renders are requested, and processes are replaced meanwhile, as in a rollout. The servers then
 * refuse the old credentials. docs/rotation.md has the same steps in the same order.
 */
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { mkdtempSync, symlinkSync } from 'node:fs'
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectKafka } from '@platen/adapters/kafka/connect.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { poll } from '../../time/poll.ts'
import type { Deployable } from '../../topology/cluster/cluster.ts'
import type { TestCluster } from '../../topology/cluster/test-cluster.ts'
import { aReceiver, LOOPBACK_ALLOWED, type Received, type Receiver } from '../../topology/receiver.ts'
import { type KafkaServer, startKafka } from '../../topology/server/kafka.ts'
import { type RedisServer, startRedis } from '../../topology/server/redis.ts'
import { type S3Server, startS3 } from '../../topology/server/s3.ts'
import { ended, render, request, type Service, submit } from '../../topology/service.ts'
import { aCluster, aTenant, LETTER } from '../harness.ts'

const LIVE = `service_live_${'L'.repeat(43)}`
const LIMITS = { syncRateLimitPerMinute: 100_000, asyncRateLimitPerMinute: 100_000 }
/** Renders between one step and the next: the load is there, and goes on. */
const SOME = 4
/** Between an answer and the next request: processes that start need the cores, too. */
const PAUSE_MS = 100
const FOLLOWING = ['api', 'renderer', 'events'] as const

const newKey = () => randomBytes(32).toString('base64url')
const newSealKey = () => randomBytes(32).toString('base64')

type Secret = Readonly<Record<string, string>>

/** Files as the kubelet mounts a Secret: links into a folder that is replaced as a whole. */
function aMount(names: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'platen-secret-'))
  for (const name of names) symlinkSync(join('..data', name), join(folder, name))
  let versions = 0
  return {
    settings: Object.fromEntries(
      names.flatMap((name) => [
        [name, ''],
        [`${name}_FILE`, join(folder, name)],
      ]),
    ),
    async write(secret: Secret) {
      const version = join(folder, `..${++versions}`)
      await mkdir(version)
      for (const [name, value] of Object.entries(secret)) await writeFile(join(version, name), `${value}\n`)
      await symlink(version, join(folder, '..next'))
      await rename(join(folder, '..next'), join(folder, '..data'))
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

const stack = new AsyncDisposableStack()
let cluster: TestCluster
let servers: { readonly redis: RedisServer; readonly kafka: KafkaServer; readonly s3: S3Server }
let receiver: Receiver
let mount: ReturnType<typeof aMount>
let secret: Secret

beforeAll(async () => {
  const [redis, kafka, s3] = await Promise.all([
    startRedis({ password: 'first' }).then((each) => stack.use(each)),
    startKafka({ secured: true }).then((each) => stack.use(each)),
    startS3(['platen'], { hasAccounts: true }).then((each) => stack.use(each)),
  ])
  servers = { redis, kafka, s3 }
  const { access } = kafka
  assert(access !== undefined)
  await s3.addAccount({ accessKeyId: 'first', secretAccessKey: 'first secret' })
  secret = {
    PLATEN_ID_KEYS: newKey(),
    PLATEN_EVENT_KEY: newKey(),
    PLATEN_SEAL_KEY: newSealKey(),
    PLATEN_REDIS_URL: redis.url,
    PLATEN_S3_ACCESS_KEY_ID: 'first',
    PLATEN_S3_SECRET_ACCESS_KEY: 'first secret',
    PLATEN_KAFKA_USERNAME: access.user.username,
    PLATEN_KAFKA_PASSWORD: access.user.password,
  }
  mount = stack.use(aMount(Object.keys(secret)))
  await mount.write(secret)
  const caFile = join(kafka.folder, 'ca.pem')
  await writeFile(caFile, access.tls.ca)
  receiver = stack.use(await aReceiver())
  cluster = stack.use(
    await aCluster({
      documents: aTenant('acme', LIVE, LIMITS),
      apis: 2,
      renderers: 2,
      events: 2,
      kafka,
      redis,
      s3,
      settings: {
        ...LOOPBACK_ALLOWED,
        ...mount.settings,
        PLATEN_KAFKA_TLS: 'true',
        PLATEN_KAFKA_SASL: 'plain',
        PLATEN_KAFKA_CA_FILE: caFile,
        // Those of the root account would work for ever.
        AWS_ACCESS_KEY_ID: '',
        AWS_SECRET_ACCESS_KEY: '',
      },
    }),
  )
})
afterAll(() => stack.disposeAsync())

/** NaN while the process is away. */
async function metricOf(port: number, name: string): Promise<number> {
  const text = await fetch(`http://127.0.0.1:${port}/metrics`)
    .then((response) => response.text())
    .catch(() => '')
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

const portsOf = (name: Deployable) => cluster.processes(name).map(({ ports: [, probes = 0] }) => probes)

/** Changes the Secret, and waits until every process that reads these settings says so. */
async function change(values: Secret, readers: readonly Deployable[] = FOLLOWING): Promise<void> {
  const changedAt = Date.now() / 1000
  secret = { ...secret, ...values }
  await mount.write(secret)
  for (const port of readers.flatMap(portsOf))
    await poll(() => metricOf(port, 'platen_settings_timestamp_seconds')).until((since) => since >= changedAt)
}

/** Replaces a process of each deployable, as a rollout does: the one whose turn it is. */
async function rollOut(load: Load, ...names: readonly Deployable[]): Promise<void> {
  for (const name of names) {
    const processes = cluster.processes(name)
    const replaced = replacements.get(name) ?? 0
    replacements.set(name, replaced + 1)
    const at = replaced % processes.length
    // A Service sends nothing more to a pod that ends. After the next answers, no request is on its way to it.
    resting = name === 'api' ? at : undefined
    if (name === 'api') await load.more()
    expect(await processes[at]?.stop()).toBe(0)
    await processes[at]?.start()
    resting = undefined
  }
}

type Load = ReturnType<typeof beginLoad>

/** How many processes of each deployable have been replaced. */
const replacements = new Map<Deployable, number>()
/** The API process that ends or starts. */
let resting: number | undefined
let asked = 0

/** The API as a Service balances it: each request goes to the other process. */
function balanced(): Service {
  const next = () => (resting === undefined ? asked++ % 2 : 1 - resting)
  return { ...cluster.at(0), url: () => cluster.urls[next()] ?? '' }
}

/** Callers of async and of sync renders. */
function beginLoad() {
  const service = balanced()
  const ids: string[] = []
  const statuses: number[] = []
  const over = new AbortController()
  const callAsync = async () => {
    while (!over.signal.aborted) {
      const id = await submit(service, LIVE, { ...LETTER, webhook_url: receiver.url })
      ids.push(id)
      expect((await ended(service, LIVE, id)).status).toBe('succeeded')
      await sleep(PAUSE_MS)
    }
  }
  const callSync = async () => {
    while (!over.signal.aborted) {
      statuses.push((await render(service, LIVE, LETTER)).status)
      await sleep(PAUSE_MS)
    }
  }
  const callers = Promise.all([callAsync(), callSync()])
  // Awaited by `end`.
  callers.catch(() => undefined)
  return {
    ids,
    statuses,
    async more() {
      const [wantedIds, wanted] = [ids.length + SOME, statuses.length + SOME]
      const enough = poll(() => ids.length >= wantedIds && statuses.length >= wanted).until(Boolean)
      await Promise.race([enough, callers])
      for (const api of [0, 1]) expect(await unknownTo(api, ids)).toEqual([])
    },
    async end() {
      over.abort()
      await callers
    },
  }
}

/** Those of the ids that a process of the API does not find. */
async function unknownTo(api: number, ids: readonly string[]): Promise<readonly string[]> {
  const answers = await Promise.all(
    ids.map(async (id) => {
      const { status } = await request(cluster.at(api), { key: LIVE, path: `/api/v1/render/${id}` })
      return [id, status] as const
    }),
  )
  return answers.flatMap(([id, status]) => (status === 404 ? [id] : []))
}

async function rotateIdKeys(load: Load): Promise<void> {
  const [old, next] = [secret['PLATEN_ID_KEYS'] ?? '', newKey()]
  // Amid a rollout: a process has the new files from its start, while the other one still reads the old ones.
  await Promise.all([rollOut(load, 'api'), change({ PLATEN_ID_KEYS: `${old},${next}` }, ['api'])])
  await Promise.all([rollOut(load, 'api'), change({ PLATEN_ID_KEYS: `${next},${old}` }, ['api'])])
  await load.more()
}

async function rotateEventKey(load: Load): Promise<void> {
  const [, second] = cluster.processes('renderer')
  const changing = change({ PLATEN_EVENT_KEY: newKey() }, ['renderer'])
  // A killed renderer leaves renders whose event the other one makes again, with another key.
  await second?.kill()
  await second?.start()
  await changing
  await load.more()
}

async function rotateSealKey(load: Load): Promise<void> {
  const [old, next] = [secret['PLATEN_SEAL_KEY'] ?? '', newSealKey()]
  const [publish] = cluster.processes('publish')
  const counts = (key: string) =>
    Promise.all(portsOf('events').map((port) => metricOf(port, `platen_webhook_secrets{sealed_with="${key}"}`)))
  await change({ PLATEN_SEAL_KEY: `${old},${next}` }, ['events'])
  await change({ PLATEN_SEAL_KEY: `${next},${old}` }, ['events'])
  expect(await counts('older')).toEqual([1, 1])
  await rollOut(load, 'events')
  await publish?.stop()
  await publish?.start()
  await poll(() => counts('older')).until((older) => older.every((count) => count === 0))
  expect(await counts('first')).toEqual([1, 1])
  await change({ PLATEN_SEAL_KEY: next }, ['events'])
  expect(await counts('unknown')).toEqual([0, 0])
  await load.more()
}

async function rotateRedisPassword(load: Load): Promise<void> {
  const { redis } = servers
  await using client = { redis: new Redis(redis.url), [Symbol.asyncDispose]: async () => client.redis.disconnect() }
  await client.redis.call('ACL', 'SETUSER', 'default', '>second')
  await change({ PLATEN_REDIS_URL: redis.url.replace('first', 'second') })
  await rollOut(load, 'renderer')
  await client.redis.call('ACL', 'SETUSER', 'default', '<first')
  // The connections from before are still open.
  await client.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await client.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes')
  await load.more()
  for (const port of FOLLOWING.flatMap(portsOf))
    await poll(() => metricOf(port, 'platen_dependency_up{dependency="redis"}')).until((isUp) => isUp === 1)
}

async function rotateS3Key(load: Load): Promise<void> {
  const { s3 } = servers
  await s3.addAccount({ accessKeyId: 'second', secretAccessKey: 'second secret' })
  await change({ PLATEN_S3_ACCESS_KEY_ID: 'second', PLATEN_S3_SECRET_ACCESS_KEY: 'second secret' })
  await rollOut(load, 'api')
  await s3.removeAccount('first')
  await load.more()
}

async function rotateKafkaUser(load: Load): Promise<void> {
  const { username = '', password = '' } = servers.kafka.access?.successor ?? {}
  await change({ PLATEN_KAFKA_USERNAME: username, PLATEN_KAFKA_PASSWORD: password })
  await rollOut(load, 'renderer', 'events')
  await load.more()
}

/** Every event in Kafka, as often as it is there. */
async function eventIds(count: number, signal: AbortSignal): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { access, broker } = servers.kafka
  const settings = { brokers: [broker], clientId: 'test', sasl: access?.successor, tls: access?.tls }
  await using connection = await connectKafka(
    settings,
    { clock: systemClock(), log: openLog({ level: 'error', process: 'test', instance: 'test' }) },
    signal,
  )
  const ids = new Map<string, Set<string>>()
  for await (const { event } of kafkaEventLog(connection, { prefix: '' }).follow('test', signal)) {
    const { id } = event.manifest.render
    ids.set(id, (ids.get(id) ?? new Set()).add(event.id))
    if (ids.size === count) break
  }
  return ids
}

function isSigned({ headers, body }: Received, webhookSecret: string): boolean {
  const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']]
  const signature = createHmac('sha256', webhookSecret).update(`${String(id)}.${String(timestamp)}.${body}`)
  return headers['webhook-signature'] === `v1,${signature.digest('base64')}`
}

test('rotations under load: no valid id is unknown, no event has two ids, no webhook is unsigned', async ({
  signal,
}) => {
  const load = beginLoad()
  await load.more()
  await rotateIdKeys(load)
  await rotateEventKey(load)
  await rotateSealKey(load)
  await rotateRedisPassword(load)
  await rotateS3Key(load)
  await rotateKafkaUser(load)
  await load.end()
  expect(new Set(load.statuses)).toEqual(new Set([200]))
  const webhookIdsOf = () => Map.groupBy(receiver.received, ({ body }) => String(Object(JSON.parse(body)).id))
  await poll(() => webhookIdsOf().size).until((count) => count === load.ids.length)
  for (const calls of webhookIdsOf().values())
    expect(new Set(calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  const webhookSecret = (await readFile(join(cluster.dataDir, 'webhook-secrets/acme'), 'utf8')).trim()
  expect(receiver.received.filter((call) => !isSigned(call, webhookSecret))).toEqual([])
  const events = await eventIds(load.ids.length + load.statuses.length, signal)
  expect([...events.values()].filter(({ size }) => size !== 1)).toEqual([])
})
