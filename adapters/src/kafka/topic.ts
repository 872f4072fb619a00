/**
 * The topics as data, and their preparation: missing ones are created, existing ones are checked. Every group that reads a topic gets a
 * committed offset in each partition at the start. Without one, autoscalers take the whole log for the lag of the group.
 */

import { DEAD_LETTERS_KEPT_MS } from '@platen/contract/domain/limit.ts'
import { LANES, type Lane } from '@platen/contract/domain/render.ts'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import { backOffMs } from '@platen/lib/back-off.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { Admin, ITopicConfig } from 'kafkajs'
import { type KafkaConnection, openAdmin, throwUnavailable } from './connect.ts'
import { commitInGroup, hasOffsetsToCommit, isTransient, retryTransient } from './group.ts'
import {
  KAFKA_BACK_OFF,
  KAFKA_DEAD_BYTES_MAX,
  KAFKA_EVENTS_KEPT_MS,
  KAFKA_PREPARE_MS_MAX,
  KAFKA_QUEUE_KEPT_MS,
  KAFKA_SYNC_KEPT_MS,
} from './limit.ts'

/**
 * Groups whose offsets are read at once. For each topic that is new to it, kafkajs asks a broker while all others wait behind a lock, for
 * at most `KAFKA_REQUEST_MS_MAX`. So a group waits for a few slow answers only.
 */
const KAFKA_GROUPS_AT_ONCE = 4

export interface Topic {
  /** Without the prefix. */
  readonly name: string
  readonly partitions: number
  /** Groups that read it, without the prefix. A group that reads several topics is listed by each. */
  readonly groups: readonly string[]
  /** Kafka's settings of the topic that differ from the broker's. */
  readonly config: Readonly<Record<string, string>>
}

export interface TopicSettings {
  /** Prefix of every topic and group name, so that installations can share a Kafka. Letters, digits, `.`, `_` and `-`. */
  readonly prefix: string
  /** Partitions of each lane's topics and of the event log. At most this many processes share one topic. */
  readonly partitions?: Partial<Record<Lane | 'events', number>> | undefined
  /** Absent = the brokers' default. */
  readonly replicas?: number | undefined
  /** Copies that must have a record before it counts as written; absent = the brokers' default. */
  readonly inSyncMin?: number | undefined
}

/** Kafka can be reached, but its topics are not as required. The message says what the operator must fix. */
export class KafkaUnfit extends Error {
  override readonly name = 'KafkaUnfit'
}

/** More than the number of processes anyone starts: partitions can be added later, and never removed. */
export const PARTITIONS: Readonly<Record<Lane | 'events', number>> = { sync: 12, async: 24, bulk: 24, events: 12 }

/** Records that cannot be read or that crash their renderers, with the reason. People read them. */
export const DEAD_TOPIC = 'render.dead'
export const EVENT_TOPIC = 'render.events'
const DEAD_PARTITIONS = 1

/** Also the group of its renderers. One group per topic, since all members must consume the same topics. */
export function queueTopic(engine: Engine, lane: Lane): string {
  return `render.${engine}.${lane}`
}

export function readerGroup(reader: string): string {
  return `${EVENT_TOPIC}.${reader}`
}

/** `readers` are the reader names of the event log. */
export function renderTopics({ partitions }: TopicSettings, readers: readonly string[]): readonly Topic[] {
  const queues = ENGINES.flatMap((engine) =>
    LANES.map((lane) => ({
      name: queueTopic(engine, lane),
      partitions: partitions?.[lane] ?? PARTITIONS[lane],
      groups: [queueTopic(engine, lane)],
      config: deletedAfter(lane === 'sync' ? KAFKA_SYNC_KEPT_MS : KAFKA_QUEUE_KEPT_MS),
    })),
  )
  const dead = {
    name: DEAD_TOPIC,
    groups: [],
    partitions: DEAD_PARTITIONS,
    config: { ...deletedAfter(DEAD_LETTERS_KEPT_MS), 'max.message.bytes': String(KAFKA_DEAD_BYTES_MAX) },
  }
  const events = {
    name: EVENT_TOPIC,
    partitions: partitions?.events ?? PARTITIONS.events,
    groups: readers.map(readerGroup),
    config: deletedAfter(KAFKA_EVENTS_KEPT_MS),
  }
  return [...queues, dead, events]
}

/**
 * Records are deleted after `keptMs` by the brokers' clocks. By the sender's clock, they would be refused if it is an hour ahead, and
 * deleted at once if it is behind.
 */
export function deletedAfter(keptMs: number): Readonly<Record<string, string>> {
  return {
    'cleanup.policy': 'delete',
    'retention.ms': String(keptMs),
    'segment.ms': String(Math.ceil(keptMs / 7)),
    'message.timestamp.type': 'LogAppendTime',
  }
}

/**
 * Creates missing topics and commits the first offsets. Safe to repeat, also by several processes at once. Throws `KafkaUnfit` if a topic
 * has fewer partitions than required, or is missing and may not be created. Throws `Unavailable` too.
 */
export async function prepareTopics(
  connection: KafkaConnection,
  topics: readonly Topic[],
  options: { settings: TopicSettings; signal: AbortSignal },
): Promise<void> {
  const { settings } = options
  const signal = AbortSignal.any([options.signal, connection.clock.timeout(KAFKA_PREPARE_MS_MAX)])
  const wanted = topics.map((topic) => ({ ...topic, name: settings.prefix + topic.name }))
  try {
    const prepare = async () => {
      await createMissing(connection, wanted, { settings, signal })
      // Brokers list a topic for a moment after its deletion. It is then found missing here, and the retry creates it.
      await commitFirstOffsets(connection, groupsOf(wanted), { prefix: settings.prefix, signal })
    }
    await retryTransient(connection, prepare, { signal })
  } catch (cause) {
    options.signal.throwIfAborted()
    if (cause instanceof KafkaUnfit) throw cause
    throwUnavailable(cause)
  }
}

async function createMissing(
  connection: KafkaConnection,
  wanted: readonly Topic[],
  { settings, signal }: { readonly settings: TopicSettings; readonly signal: AbortSignal },
): Promise<void> {
  // A new client: one that once read the offsets of a topic creates no topic while that one is missing.
  const admin = await openAdmin(connection.client())
  try {
    const missing = await missingOf(admin, wanted)
    if (missing.length > 0) await create(admin, missing, settings)
    await waitUntilCreated(connection, admin, { wanted, signal })
  } finally {
    await admin.disconnect()
  }
}

async function commitFirstOffsets(
  connection: KafkaConnection,
  groups: ReadonlyMap<string, readonly string[]>,
  { prefix, signal }: { readonly prefix: string; readonly signal: AbortSignal },
): Promise<void> {
  const commits = [...groups].map(([group, topics]) => ({ group: prefix + group, topics, offset: firstOffset }))
  const lacking: typeof commits = []
  await forEachConcurrently(commits, KAFKA_GROUPS_AT_ONCE, async (commit) => {
    if (await hasOffsetsToCommit(connection, commit, signal)) lacking.push(commit)
  })
  // All at once: brokers let the first member of a group wait for others, by default for three seconds.
  await forEachConcurrently(lacking, lacking.length, (commit) => commitInGroup(connection, commit, signal))
}

/**
 * Throws `KafkaUnfit` with the names of missing topics: somebody deleted them, or Kafka came back empty. Rejects as kafkajs does if no
 * broker answers.
 */
export async function requireTopics(
  connection: Pick<KafkaConnection, 'admin'>,
  topics: readonly Topic[],
  { prefix }: Pick<TopicSettings, 'prefix'>,
): Promise<void> {
  const admin = await connection.admin()
  const wanted = topics.map((topic) => ({ ...topic, name: prefix + topic.name }))
  const missing = await admin
    .fetchTopicMetadata({ topics: wanted.map(({ name }) => name) })
    .then(() => [])
    .catch((cause: unknown) => (isNew(cause) ? missingOf(admin, wanted) : throwUnavailable(cause)))
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(', ')
  throw new KafkaUnfit(`these topics are missing in Kafka: ${names}; a process that starts creates them`)
}

function firstOffset(committed: number | undefined, low: number): number | undefined {
  return committed === undefined ? low : undefined
}

async function missingOf(admin: Admin, wanted: readonly Topic[]): Promise<readonly Topic[]> {
  const there = new Set(await admin.listTopics())
  return wanted.filter(({ name }) => !there.has(name))
}

async function create(admin: Admin, missing: readonly Topic[], { replicas, inSyncMin }: TopicSettings): Promise<void> {
  const common = inSyncMin === undefined ? {} : { 'min.insync.replicas': String(inSyncMin) }
  const configs = missing.map(
    ({ name, partitions, config }): ITopicConfig => ({
      topic: name,
      numPartitions: partitions,
      replicationFactor: replicas ?? -1,
      configEntries: Object.entries({ ...common, ...config }).map(([key, value]) => ({ name: key, value })),
    }),
  )
  // One by one: for several topics, kafkajs does not say which ones failed.
  for (const topic of configs) {
    try {
      // Returns false if another process was faster.
      await admin.createTopics({ topics: [topic], waitForLeaders: false })
    } catch (cause) {
      if (isTransient(cause)) throw cause
      const reason = cause instanceof AggregateError ? cause.errors.map(String).join(', ') : reasonOf(cause)
      const names = missing.map(({ name }) => name).join(', ')
      throw new KafkaUnfit(`these topics are missing in Kafka: ${names}; creating ${topic.topic} failed: ${reason}`, {
        cause,
      })
    }
  }
}

/** It takes a moment until every broker knows the new topics and their leaders. */
async function waitUntilCreated(
  { clock }: KafkaConnection,
  admin: Admin,
  { wanted, signal }: { wanted: readonly Topic[]; signal: AbortSignal },
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { topics } = await admin
      .fetchTopicMetadata({ topics: wanted.map(({ name }) => name) })
      .catch((cause: unknown) => (isNew(cause) ? { topics: [] } : throwUnavailable(cause)))
    const found = new Map(topics.map(({ name, partitions }) => [name, partitions]))
    const late = wanted.filter(({ name }) => (found.get(name) ?? []).length === 0)
    if (late.length === 0) {
      for (const { name, partitions } of wanted) checkPartitions(name, partitions, found.get(name)?.length ?? 0)
      return
    }
    await clock.sleep(backOffMs(tries, { ...KAFKA_BACK_OFF, msMin: 10 }), signal).catch(() => {
      throw new Unavailable(`Kafka does not know these topics: ${late.map(({ name }) => name).join(', ')}`)
    })
  }
}

function checkPartitions(name: string, wanted: number, found: number): void {
  if (found >= wanted) return
  throw new KafkaUnfit(`the topic ${name} has ${found} partitions in Kafka and needs ${wanted}`)
}

function groupsOf(topics: readonly Topic[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>()
  for (const { name, groups: readers } of topics) {
    for (const group of readers) groups.set(group, [...(groups.get(group) ?? []), name])
  }
  return groups
}

const NEW = ['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE']

function isNew(error: unknown): boolean {
  return error instanceof Error && 'type' in error && NEW.includes(String(error.type))
}

function reasonOf(error: unknown): string {
  // kafkajs has its own aggregate error, whose message says nothing.
  if (!(error instanceof Error)) return String(error)
  const inner = 'errors' in error && Array.isArray(error.errors) ? error.errors.map(String) : []
  return inner.length > 0 ? inner.join(', ') : error.message
}
