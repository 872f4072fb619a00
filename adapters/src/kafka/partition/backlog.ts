/**
 * Reads from Kafka how many renders wait in each queue and for how long, and the lag of the readers of the event log and of the dispatchers
 * of webhooks. Consumers only know records that they have fetched, and without any consumer nobody else would report the backlog.
 */
import type { Backlog, GroupBacklog, QueueBacklog } from '@platen/contract/domain/backlog.ts'
import { LANES } from '@platen/contract/domain/render.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { raceAbort } from '@platen/lib/race.ts'
import type { Admin } from 'kafkajs'
import type { KafkaConnection } from '../connect.ts'
import { KAFKA_QUEUE_KEPT_MS } from '../limit.ts'
import { EVENT_TOPIC, queueTopic, readerGroup } from '../topic.ts'

const SECOND_MS = 1000
/** How often the queue backlog is measured: as often as metrics are scraped. */
const KAFKA_BACKLOG_EVERY_MS = 15 * SECOND_MS

/** Names have no prefix. */
interface GroupTopics {
  /** For people. */
  readonly name: string
  readonly group: string
  readonly topics: readonly string[]
}

interface BacklogWatch extends AsyncDisposable {
  /** Returns undefined if the last backlog was read too long ago. */
  last(): Backlog | undefined
}

interface BacklogSettings {
  /** See `TopicSettings`. */
  readonly prefix: string
  readonly readers: readonly string[]
  readonly deliveries: readonly GroupTopics[]
}

/** After this many failed reads, the last result is no longer returned. */
const READS_MISSED_MAX = 3
const OLDEST_MS_MIN = 1000
const OLDEST_RATIO = 1.1

/** Reads the backlog repeatedly, until it is closed. */
export function watchBacklog(connection: KafkaConnection, settings: BacklogSettings): BacklogWatch {
  const { clock, log } = connection
  const closing = new AbortController()
  const { signal } = closing
  let seen: { readonly backlog: Backlog; readonly at: number } | undefined
  const follow = async () => {
    while (!signal.aborted) {
      try {
        // If nobody answers, kafkajs retries for a while. Closing does not wait for that.
        seen = { backlog: await raceAbort(readBacklog(connection, settings), signal), at: clock.monotonic() }
      } catch (err) {
        log.debug({ err }, 'backlog not read')
      }
      await clock.sleep(KAFKA_BACKLOG_EVERY_MS, signal).catch(() => undefined)
    }
  }
  const done = follow()
  return {
    last() {
      const isFresh = seen !== undefined && clock.monotonic() - seen.at < READS_MISSED_MAX * KAFKA_BACKLOG_EVERY_MS
      return isFresh ? seen?.backlog : undefined
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the watch was closed'))
      await done
    },
  }
}

/** Rejects as kafkajs does. */
export async function readBacklog(
  connection: KafkaConnection,
  { prefix, readers, deliveries }: BacklogSettings,
): Promise<Backlog> {
  const admin = await connection.admin()
  const leftIn = async ({ name, group, topics }: GroupTopics): Promise<GroupBacklog> => {
    const heads = await Promise.all(topics.map((topic) => waitingHeads(admin, prefix + topic, prefix + group)))
    return { name, records: heads.reduce((sum, each) => sum + recordsOf(each), 0) }
  }
  const leftByReader = (name: string) => leftIn({ name, group: readerGroup(name), topics: [EVENT_TOPIC] })
  // One after the other: a call that is not awaited yet could reject unhandled, which would end the process.
  return {
    queues: await readQueues(connection, prefix),
    readers: await Promise.all(readers.map(leftByReader)),
    deliveries: await Promise.all(deliveries.map(leftIn)),
  }
}

async function readQueues(connection: KafkaConnection, prefix: string): Promise<readonly QueueBacklog[]> {
  const admin = await connection.admin()
  const queues: QueueBacklog[] = []
  for (const engine of ENGINES) {
    for (const lane of LANES) {
      const topic = prefix + queueTopic(engine, lane)
      const firsts = await waitingHeads(admin, topic, topic)
      const renders = recordsOf(firsts)
      const isOlder = (ageMs: number) =>
        hasOlder(admin, { topic, firsts, before: Math.round(connection.clock.now() - ageMs) })
      queues.push({ engine, lane, renders, oldestMs: renders === 0 ? 0 : await oldest(isOlder) })
    }
  }
  return queues
}

/** By partition number, for partitions with waiting records: the first offset, and the count. */
type PartitionHeads = ReadonlyMap<number, { readonly offset: number; readonly count: number }>

function recordsOf(heads: PartitionHeads): number {
  return [...heads.values()].reduce((sum, { count }) => sum + count, 0)
}

async function waitingHeads(admin: Admin, topic: string, groupId: string): Promise<PartitionHeads> {
  // In this order, so that a commit in between never shows records that do not wait.
  const ends = await admin.fetchTopicOffsets(topic)
  const [read] = await admin.fetchOffsets({ groupId, topics: [topic] })
  const committed = new Map(read?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
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
