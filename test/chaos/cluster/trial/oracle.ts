/**
 * Reads the outcomes of a tenant's renders from the stores, without the service's own code: manifests from S3, events from Kafka, calls
 * from the receiver. Only the counts in Redis come from the limiter, because the format of its keys is its own.
 */
import { randomUUID } from 'node:crypto'
import { GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { patchRequestTimers } from '@platen/adapters/kafka/client/kafkajs-patches.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import type { Usage } from '@platen/contract/port/limiter.ts'
import { Kafka, logLevel } from 'kafkajs'
import { redisOf } from '../../../cluster/harness.ts'
import { type Cluster, SERVICE_BUCKET } from '../../../topology/cluster/cluster.ts'
import type { Post } from '../rig/rig.ts'

/** The fields of a manifest that the promises are about. */
export interface Ending {
  /** `canceled`: the API canceled the render, and no renderer has made a manifest of that yet. */
  readonly kind: 'ended' | 'removed' | 'abandoned' | 'canceled'
  readonly eventId?: string
  readonly render: {
    readonly id: string
    readonly tenant: string
    readonly account: string
    readonly mode: 'sync' | 'async'
    readonly units: number
    readonly period: string
    readonly webhookUrl?: string
  }
  readonly outcome: {
    readonly status: 'succeeded' | 'failed'
    readonly finishedAt: number
    readonly error?: { readonly code: string }
  }
}

export interface TellingOf {
  readonly id: string
  readonly manifest: Ending
}

export interface Facts {
  readonly manifests: ReadonlyMap<string, Ending>
  /** All events in the log, including repetitions. */
  readonly events: readonly TellingOf[]
  /** Usage by month, for each month with a render. */
  readonly usage: ReadonlyMap<string, Usage>
  readonly posts: readonly Post[]
}

/** The stores of a service, and the calls that its receiver got. */
export interface Scene {
  readonly cluster: Pick<Cluster, 'broker' | 'topicPrefix' | 'redis' | 's3'>
  readonly posts: readonly Post[]
}

export async function readFacts(scene: Scene, tenant: string, signal: AbortSignal): Promise<Facts> {
  const [manifests, events] = await Promise.all([readManifests(scene, signal), readEvents(scene)])
  const own = [...manifests.values()].filter(({ render }) => render.tenant === tenant)
  return {
    manifests: new Map(own.map((manifest) => [manifest.render.id, manifest])),
    events: events.filter(({ manifest }) => manifest.render.tenant === tenant),
    usage: await readUsage(scene, own, signal),
    posts: scene.posts,
  }
}

/** Manifests by name, with the ETag. An unchanged manifest is read once; a changed one would be read again. */
const read = new Map<string, { readonly tag: string; readonly manifest: Ending }>()
const READS_AT_ONCE = 16

async function readManifests({ cluster: { s3 } }: Scene, signal: AbortSignal): Promise<ReadonlyMap<string, Ending>> {
  const { endpoint, region, credentials } = s3
  const client = new S3Client({
    endpoint,
    region,
    credentials,
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  })
  const manifests = new Map<string, Ending>()
  try {
    const pages = paginateListObjectsV2({ client }, { Bucket: SERVICE_BUCKET, Prefix: 'manifest/' })
    for await (const { Contents: listed = [] } of pages) {
      const waiting = listed.values()
      const work = async () => {
        for (const { Key: key = '', ETag: tag = '' } of waiting)
          manifests.set(key, await readOne(client, { key, tag, endpoint }, signal))
      }
      await Promise.all(Array.from({ length: READS_AT_ONCE }, work))
    }
  } finally {
    client.destroy()
  }
  return manifests
}

async function readOne(
  client: S3Client,
  object: { key: string; tag: string; endpoint: string },
  signal: AbortSignal,
): Promise<Ending> {
  const { key, tag, endpoint } = object
  const name = `${endpoint}/${key}`
  const known = read.get(name)
  if (known !== undefined && known.tag === tag) return known.manifest
  const { Body: body } = await client.send(new GetObjectCommand({ Bucket: SERVICE_BUCKET, Key: key }), {
    abortSignal: signal,
  })
  const manifest = endingOf((await body?.transformToString()) ?? '')
  read.set(name, { tag, manifest })
  return manifest
}

/** Reads a stored manifest. Events have it without its format. */
export function endingOf(stored: string): Ending {
  const { version: _format, ...ending } = JSON.parse(stored) as Ending & { readonly version: number }
  return ending
}

async function readEvents({ cluster: { broker, topicPrefix } }: Scene): Promise<readonly TellingOf[]> {
  // Else kafkajs sets timers with negative delays, of which Node warns in the output of the test.
  await patchRequestTimers()
  const kafka = new Kafka({ brokers: [broker], clientId: 'oracle', logLevel: logLevel.NOTHING })
  const topic = `${topicPrefix}render.events`
  const [admin, consumer] = [kafka.admin(), kafka.consumer({ groupId: `oracle-${randomUUID()}` })]
  try {
    await Promise.all([admin.connect(), consumer.connect()])
    const ends = new Map((await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => [partition, Number(high)]))
    const unread = new Set([...ends].filter(([, end]) => end > 0).map(([partition]) => partition))
    const events: TellingOf[] = []
    if (unread.size === 0) return events
    const { promise: all, resolve, reject } = Promise.withResolvers<void>()
    // Without this, a consumer that gives up would be waited for without end.
    consumer.on(consumer.events.CRASH, ({ payload: { error } }) => reject(error))
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message: { value, offset } }) => {
        const end = ends.get(partition) ?? 0
        if (Number(offset) < end) events.push(JSON.parse(value?.toString() ?? '') as TellingOf)
        if (Number(offset) >= end - 1) unread.delete(partition)
        if (unread.size === 0) resolve()
      },
    })
    await all
    return events
  } finally {
    await Promise.all([admin.disconnect(), consumer.disconnect()])
  }
}

async function readUsage(
  { cluster }: Scene,
  endings: readonly Ending[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Usage>> {
  const account = endings[0]?.render.account
  if (account === undefined) return new Map()
  await using redis = await redisOf(cluster, signal)
  const limiter = redisLimiter(redis)
  const periods = [...new Set(endings.map(({ render }) => render.period))]
  const usages = periods.map(async (period) => [period, await limiter.usage(account, period, signal)] as const)
  return new Map(await Promise.all(usages))
}
