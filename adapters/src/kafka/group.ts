/**
 * Commits offsets of a group without its consumers. kafkajs lets only members commit. So this joins for a moment, and joins again until
 * every partition was assigned to it once. Other members of the group commit their own partitions.
 */
import { backOffMs } from '@platen/lib/back-off.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { storedFingerprint } from './client/fingerprint.ts'
import { groupMember } from './client/member.ts'
import { isIllegalSaslState, type KafkaConnection } from './connect.ts'
import { KAFKA_BACK_OFF } from './limit.ts'

interface GroupCommit {
  /** Full names, with the prefix. */
  readonly group: string
  readonly topics: readonly string[]
  /** Returns the offset to commit, given the committed and the first offset of a partition; undefined = leave it. */
  offset(committed: number | undefined, low: number, topicPartition: TopicPartition): number | undefined
}

interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

interface PartitionOffset extends TopicPartition {
  readonly offset: number
  /** Stored with the offset; see `consumer/start.ts`. */
  readonly metadata: string | null
}

/** Does any partition need a commit? Rejects as `retryTransient` does, and at once if a topic is missing. */
export function hasOffsetsToCommit(
  connection: KafkaConnection,
  commit: GroupCommit,
  signal: AbortSignal,
): Promise<boolean> {
  const step = async () => (await offsetsToCommit(connection, commit)).length > 0
  return retryTransient(connection, step, { signal, except: isMissingTopic })
}

/** Resolves when no partition is left to commit. Rejects as `retryTransient` does, and at once if a topic is missing. */
export async function commitInGroup(
  connection: KafkaConnection,
  commit: GroupCommit,
  signal: AbortSignal,
): Promise<void> {
  const commitAll = async () => {
    if ((await offsetsToCommit(connection, commit)).length === 0) return true
    await commitAsMember(connection, commit, signal)
    return (await offsetsToCommit(connection, commit)).length === 0
  }
  const retry = { signal, except: isMissingTopic }
  for (let tries = 1; !(await retryTransient(connection, commitAll, retry)); tries++)
    await connection.clock.sleep(backOffMs(tries, KAFKA_BACK_OFF), signal)
}

interface TransientRetry {
  readonly signal: AbortSignal
  /** Errors that only the caller can mend. */
  readonly except?: (error: unknown) => boolean
}

/**
 * Repeats a step while a broker is slow, has just started, or has a group in a rebalance. Rejects with every other error, and with the last
 * one when the signal aborts.
 */
export async function retryTransient<T>(
  { clock, log }: Pick<KafkaConnection, 'clock' | 'log'>,
  step: () => Promise<T>,
  { signal, except = () => false }: TransientRetry,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await step()
    } catch (cause) {
      if (!isTransient(cause) || except(cause)) throw cause
      log.debug({ err: cause }, 'group not ready')
      await clock.sleep(backOffMs(tries, KAFKA_BACK_OFF), signal).catch(() => {
        throw cause
      })
    }
  }
}

/**
 * Commits the offsets of a group without members again: brokers forget them after a while. Does nothing for a group with members, which
 * keeps its offsets; so it never causes a rebalance. Rejects as kafkajs does, or with the signal's reason.
 */
export async function renewOffsets(
  connection: KafkaConnection,
  { group, topics }: Pick<GroupCommit, 'group' | 'topics'>,
  signal: AbortSignal,
): Promise<void> {
  const described = connection.admin().then((admin) => admin.describeGroups([group]))
  const { groups } = await raceAbort(described, signal)
  if (groups.some(({ members }) => members.length > 0)) return
  // Offsets of deleted records move to the first record. A partition whose offset was forgotten gets the first offset too.
  await commitAsMember(connection, { group, topics, offset: (committed = 0, low) => Math.max(committed, low) }, signal)
}

/** Errors that brokers report while members join and leave, such as when all processes of an installation start. */
const REBALANCE_ERRORS = ['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS']

/** Errors that pass by themselves, although kafkajs does not mark them as retriable. */
const PASSING = [
  // Requests of kafkajs wait for each other.
  'KafkaJSLockTimeout',
  // During an orderly shutdown of a broker, no broker may know the coordinator of a group.
  'KafkaJSGroupCoordinatorNotFound',
  // The credentials worked when the process started. During a rotation, broker and process learn of the new ones in either order.
  'KafkaJSSASLAuthenticationError',
]

export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const isRebalance = 'type' in error && REBALANCE_ERRORS.includes(String(error.type))
  const isPassing = isRebalance || isIllegalSaslState(error) || PASSING.includes(error.name)
  const isRetriable = 'retriable' in error && error.retriable === true
  const inner = 'errors' in error && Array.isArray(error.errors) ? error.errors : []
  return isPassing || isRetriable || inner.some(isTransient) || isTransient(error.cause)
}

/** True for a deleted topic, which only `prepareTopics` creates again. A broker that does not know a new topic yet says the same. */
function isMissingTopic(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('type' in error && error.type === 'UNKNOWN_TOPIC_OR_PARTITION') || isMissingTopic(error.cause)
}

async function offsetsToCommit(connection: KafkaConnection, commit: GroupCommit): Promise<readonly PartitionOffset[]> {
  const { group, topics } = commit
  const admin = await connection.admin()
  const [lows, committed] = await Promise.all([
    Promise.all(topics.map(async (topic) => ({ topic, partitions: await admin.fetchTopicOffsets(topic) }))),
    admin.fetchOffsets({ groupId: group, topics: [...topics] }),
  ])
  return lows.flatMap(({ topic, partitions }) =>
    partitions.flatMap(({ partition, low }) => {
      const known = committed
        .find((each) => each.topic === topic)
        ?.partitions.find((each) => each.partition === partition)
      // kafkajs returns -1 if nothing is committed.
      const before = known === undefined || Number(known.offset) < 0 ? undefined : Number(known.offset)
      const topicPartition = { topic, partition }
      const next = commit.offset(before, Number(low), topicPartition)
      const metadata = (next === before ? storedFingerprint(known?.metadata) : undefined) ?? null
      return next === undefined ? [] : [{ ...topicPartition, offset: next, metadata }]
    }),
  )
}

async function commitAsMember(connection: KafkaConnection, commit: GroupCommit, signal: AbortSignal): Promise<void> {
  const client = connection.client()
  const consumer = groupMember(client, { group: commit.group, fetchWaitMs: 1, onMissing: () => undefined })
  const joined = Promise.withResolvers<Readonly<Record<string, readonly number[]>>>()
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    consumer.pause(commit.topics.map((topic) => ({ topic })))
    joined.resolve(payload.memberAssignment)
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => joined.reject(payload.error))
  const run = async () => {
    await consumer.connect()
    await consumer.subscribe({ topics: [...commit.topics], fromBeginning: true })
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => undefined })
    const assignment = await joined.promise
    const offsets = (await offsetsToCommit(connection, commit))
      .filter(({ topic, partition }) => assignment[topic]?.includes(partition))
      .map((each) => ({ ...each, offset: String(each.offset) }))
    if (offsets.length > 0) await consumer.commitOffsets(offsets)
  }
  try {
    await raceAbort(run(), signal)
  } finally {
    joined.promise.catch(() => undefined)
    await consumer.disconnect()
  }
}
