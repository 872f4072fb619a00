/** Starts the service on what the version before has left. See `left.ts`. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { connectKafka } from '@platen/adapters/kafka/connect.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { type Cluster, Redis } from 'ioredis'
import { inject } from 'vitest'
import { SILENT } from '../../fixture/build.ts'
import { scaledTimeOptions } from '../../time/scaled-time.ts'
import { SERVICE_BUCKET, startCluster } from '../../topology/cluster/cluster.ts'
import { startEmbedded } from '../../topology/embedded.ts'
import { LOOPBACK_ALLOWED } from '../../topology/receiver.ts'
import { freeTopicPrefix, kafkaOfRun, removeTopics } from '../../topology/run-server.ts'
import { startRedis } from '../../topology/server/redis.ts'
import { startS3 } from '../../topology/server/s3.ts'
import type { Service } from '../../topology/service.ts'
import { type Left, type LeftCluster, type LeftEmbedded, leftBy, RECEIVER, type Texts } from './left.ts'
import { type Keys, moved } from './move.ts'

/** The secrets of the cluster that left it. */
const SECRETS = {
  PLATEN_ID_KEYS: Buffer.alloc(32, 1).toString('base64url'),
  PLATEN_EVENT_KEY: Buffer.alloc(32, 2).toString('base64url'),
  PLATEN_SEAL_KEY: Buffer.alloc(32, 3).toString('base64'),
}
const MINUTE_MS = 60_000

export interface Upgraded extends Service {
  readonly left: Left
}

/** Starts the topology of this run on what it left a minute ago, with this receiver of its webhooks. */
export async function startUpgraded(receiver: string): Promise<Upgraded> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'platen-upgrade-'))
  stack.defer(() => rm(folder, { recursive: true, maxRetries: 10 }))
  const start = inject('topology') === 'embedded' ? startEmbeddedOn : startClusterOn
  const upgraded = await start({ folder, receiver, stack })
  const owned = stack.move()
  return { ...upgraded, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

interface Place {
  readonly folder: string
  readonly receiver: string
  readonly stack: AsyncDisposableStack
}

async function startEmbeddedOn({ folder, receiver, stack }: Place): Promise<Upgraded> {
  const written = leftBy('embedded')
  // One key is both: see `compose.ts` of the embedded service.
  const key = Buffer.from(written.files['id-keys'] ?? '', 'base64url')
  const left = aMinuteAgo(written, receiver, { ids: [key], events: key })
  await writeFiles(folder, { ...left.files, ...decoded(left.pdfs) })
  const database = new DatabaseSync(join(folder, 'platen.db'))
  database.exec(left.sql.join(';\n'))
  database.close()
  const settings = { ...LOOPBACK_ALLOWED, PLATEN_CHROMIUM: 'none', PLATEN_DATA_DIR: folder }
  return { ...stack.use(await startEmbedded(settings, left.manifests)), left }
}

async function startClusterOn({ folder, receiver, stack }: Place): Promise<Upgraded> {
  const { PLATEN_ID_KEYS: ids, PLATEN_EVENT_KEY: events } = SECRETS
  const keys: Keys = { ids: [Buffer.from(ids, 'base64url')], events: Buffer.from(events, 'base64url') }
  const left = aMinuteAgo(leftBy('cluster'), receiver, keys)
  const [dataDir, manifestsDir] = [join(folder, 'data'), join(folder, 'manifests')]
  await writeFiles(dataDir, left.files)
  await writeFiles(manifestsDir, { 'all.yaml': left.manifests })
  const [redis, s3, { broker }] = [stack.use(await startRedis()), stack.use(await startS3()), await kafkaOfRun()]
  const client = new Redis(redis.url)
  await fillRedis(client, left.redis)
  client.disconnect()
  await fillS3(s3, left)
  const topicPrefix = freeTopicPrefix()
  stack.defer(() => removeTopics(broker, [topicPrefix]))
  const cluster = stack.use(
    await startCluster({
      settings: { NODE_OPTIONS: scaledTimeOptions(), ...LOOPBACK_ALLOWED, ...SECRETS },
      dataDir,
      manifestsDir,
      redis,
      s3,
      kafka: { broker, topicPrefix },
      apiPorts: [0],
      engines: ['react_pdf'],
    }),
  )
  // Now that there are topics. In a rollout, too, the version before goes on writing for a while.
  const [clock, { signal }] = [systemClock(), new AbortController()]
  await using kafka = await connectKafka({ brokers: [broker], clientId: 'test' }, { clock, log: SILENT }, signal)
  for (const { topic, ...record } of left.kafka) await kafka.send(topicPrefix + topic, [record], signal)
  return { ...cluster, url: () => cluster.urls[0] ?? '', left }
}

/** What was left, as if that had been a minute ago. */
function aMinuteAgo<L extends LeftEmbedded | LeftCluster>(left: L, receiver: string, keys: Keys): L {
  const here = JSON.parse(JSON.stringify(left).replaceAll(RECEIVER, receiver)) as L
  return moved(here, Date.now() - left.at - MINUTE_MS, keys)
}

function decoded(pdfs: Texts): Readonly<Record<string, Uint8Array>> {
  return Object.fromEntries(Object.entries(pdfs).map(([name, text]) => [name, Buffer.from(text, 'base64')]))
}

async function writeFiles(folder: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content, { mode: 0o600 })
  }
}

/** Writes what was in Redis. Hashes are objects, streams are lists of entries, and sets and sorted sets are lists of texts. */
export async function fillRedis(redis: Redis | Cluster, values: LeftCluster['redis']): Promise<void> {
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === 'string') await redis.set(key, value)
    else if (!Array.isArray(value)) await redis.hset(key, value)
    else if (key.endsWith(':lapses')) await redis.zadd(key, ...value.map(String).toReversed())
    else if (key.endsWith(':log')) for (const [id, fields] of value) await redis.xadd(key, id, ...fields)
    else await redis.sadd(key, ...value.map(String))
  }
}

async function fillS3(s3: Awaited<ReturnType<typeof startS3>>, { objects, pdfs }: LeftCluster): Promise<void> {
  const { endpoint, region, credentials } = s3
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
  for (const [Key, Body] of Object.entries({ ...objects, ...decoded(pdfs) })) {
    await client.send(new PutObjectCommand({ Bucket: SERVICE_BUCKET, Key, Body }))
  }
  client.destroy()
}
