/**
 * Reads from Kafka how many renders wait in each queue, and for how long. Renderers only know the records they have fetched, and
 * without any renderer nobody else would report the backlog.
 */
import { raceAbort } from '@platen/contract/race.ts'
import { LANES, type Lane } from '@platen/contract/render.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import type { Admin } from 'kafkajs'
import type { KafkaConnection } from '../connect.ts'
import { KAFKA_BACKLOG_EVERY_MS, KAFKA_QUEUE_KEPT_MS } from '../limit.ts'
import { queueTopic } from '../topic.ts'

export interface QueueBacklog {
  readonly engine: Engine
  readonly lane: Lane
  readonly renders: number
  /** Age of the oldest render, up to a tenth too low. */
  readonly oldestMs: number
}

export interface BacklogWatch extends AsyncDisposable {
  /** The last backlog read, of every queue; empty if that was too long ago. */
  queues(): readonly QueueBacklog[]
}

/** After this many failed reads, the last result is no longer returned. */
const READS_MISSED_MAX = 3
const OLDEST_MS_MIN = 1000
const OLDEST_RATIO = 1.1

/** Reads the backlog repeatedly, until it is closed. */
export function watchBacklog(connection: KafkaConnection, { prefix }: { readonly prefix: string }): BacklogWatch {
  const { clock, log } = connection
  const closing = new AbortController()
  const { signal } = closing
  let seen: { readonly queues: readonly QueueBacklog[]; readonly at: number } | undefined
  const follow = async () => {
    while (!signal.aborted) {
      try {
        // kafkajs retries for a while if nobody answers, and closing does not wait for that.
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

/** Reads the backlog of every queue. Rejects as kafkajs does. */
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

/** By partition number, for partitions with waiting records: the offset of the first one, and their count. */
type PartitionHeads = ReadonlyMap<number, { readonly offset: number; readonly count: number }>

async function waitingHeads(admin: Admin, topic: string): Promise<PartitionHeads> {
  // Read in this order, so that a commit in between never shows records that do not wait.
  const ends = await admin.fetchTopicOffsets(topic)
  const [group] = await admin.fetchOffsets({ groupId: topic, topics: [topic] })
  const committed = new Map(group?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  const waiting = ends.flatMap(({ partition, high, low }) => {
    // kafkajs returns -1 if nothing is committed. Records deleted by retention no longer wait.
    const offset = Math.max(committed.get(partition) ?? 0, Number(low))
    const count = Number(high) - offset
    return count > 0 ? [[partition, { offset, count }] as const] : []
  })
  return new Map(waiting)
}

/** Is the first waiting record of any partition older than `before`? Brokers set the record times of these topics. */
async function hasOlder(
  admin: Admin,
  asked: { topic: string; firsts: PartitionHeads; before: number },
): Promise<boolean> {
  const since = await admin.fetchTopicOffsetsByTimestamp(asked.topic, asked.before)
  return since.some(({ partition, offset }) => (asked.firsts.get(partition)?.offset ?? Infinity) < Number(offset))
}

/** Finds the age of the oldest record by bisection, to within `OLDEST_RATIO`: Kafka can only answer yes or no. */
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
