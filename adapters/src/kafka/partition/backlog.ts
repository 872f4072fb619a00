/**
 * How much waits in each line of the queue, and for how long, asked of Kafka itself: renderers know of what they have fetched, and
 * where none is left nobody else would tell.
 */
import { KAFKA_BACKLOG_EVERY_MS, KAFKA_QUEUE_KEPT_MS } from '@platen/contract/kafka-limit.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { LANES, type Lane } from '@platen/contract/render.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import type { Admin } from 'kafkajs'
import type { KafkaConnection } from '../connect.ts'
import { queueTopic } from '../topic.ts'

export interface QueueBacklog {
  readonly engine: Engine
  readonly lane: Lane
  readonly renders: number
  /** Up to a tenth too low. */
  readonly oldestMs: number
}

export interface BacklogWatch extends AsyncDisposable {
  /** What was seen last, of every line; nothing where that was too long ago. */
  queues(): readonly QueueBacklog[]
}

/** So many looks may fail before what was seen is no longer told. */
const READS_MISSED_MAX = 3
const OLDEST_MS_MIN = 1000
const OLDEST_RATIO = 1.1

/** Looks again and again, until it is closed. */
export function watchBacklog(connection: KafkaConnection, { prefix }: { readonly prefix: string }): BacklogWatch {
  const { clock, log } = connection
  const closing = new AbortController()
  const { signal } = closing
  let seen: { readonly queues: readonly QueueBacklog[]; readonly at: number } | undefined
  const follow = async () => {
    while (!signal.aborted) {
      try {
        // kafkajs goes on asking for a while where nobody answers, and whoever closes this does not wait for it.
        seen = { queues: await raceAbort(readBacklog(connection, prefix), signal), at: clock.monotonic() }
      } catch (err) {
        log.debug({ err }, 'queue backlog not read')
      }
      await clock.sleep(KAFKA_BACKLOG_EVERY_MS, signal).catch(() => undefined)
    }
  }
  const done = follow()
  return {
    queues() {
      const isFresh = seen !== undefined && clock.monotonic() - seen.at < READS_MISSED_MAX * KAFKA_BACKLOG_EVERY_MS
      return isFresh && seen !== undefined ? seen.queues : []
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the watch was closed'))
      await done
    },
  }
}

/** Every line as it is now. Rejects as kafkajs does. */
export async function readBacklog(connection: KafkaConnection, prefix: string): Promise<readonly QueueBacklog[]> {
  const admin = await connection.admin()
  const queues: QueueBacklog[] = []
  for (const engine of ENGINES) {
    for (const lane of LANES) {
      const topic = prefix + queueTopic(engine, lane)
      const firsts = await waitingHeads(admin, topic)
      const renders = [...firsts.values()].reduce((sum, { count }) => sum + count, 0)
      const isOlder = (ageMs: number) =>
        hasOlder(admin, { topic, firsts, before: Math.round(connection.clock.now() - ageMs) })
      queues.push({ engine, lane, renders, oldestMs: renders === 0 ? 0 : await oldest(isOlder) })
    }
  }
  return queues
}

/** Of each partition in which something waits, by its number: the offset of the first, and how many. */
type PartitionHeads = ReadonlyMap<number, { readonly offset: number; readonly count: number }>

async function waitingHeads(admin: Admin, topic: string): Promise<PartitionHeads> {
  // In this order, so that what is committed in between makes none appear that is not there.
  const ends = await admin.fetchTopicOffsets(topic)
  const [group] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  const committed = new Map(group?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  const waiting = ends.flatMap(({ partition, high, low }) => {
    // -1 where nothing is committed; and what is past its retention waits no more.
    const offset = Math.max(committed.get(partition) ?? 0, Number(low))
    const count = Number(high) - offset
    return count > 0 ? [[partition, { offset, count }] as const] : []
  })
  return new Map(waiting)
}

/** Is a first one from before that time? Topics have the time at which their brokers took each record. */
async function hasOlder(
  admin: Admin,
  asked: { topic: string; firsts: PartitionHeads; before: number },
): Promise<boolean> {
  const since = await admin.fetchTopicOffsetsByTimestamp(asked.topic, asked.before)
  return since.some(({ partition, offset }) => (asked.firsts.get(partition)?.offset ?? Infinity) < Number(offset))
}

/** The highest age that something has, to within `OLDEST_RATIO`, as the question can only be answered by yes or no. */
async function oldest(isOlder: (ageMs: number) => Promise<boolean>): Promise<number> {
  if (!(await isOlder(OLDEST_MS_MIN))) return 0
  let [low, high] = [OLDEST_MS_MIN, KAFKA_QUEUE_KEPT_MS]
  while (high / low > OLDEST_RATIO) {
    const middle = Math.sqrt(low * high)
    if (await isOlder(middle)) low = middle
    else high = middle
  }
  return low
}
