import { DEAD_LETTERS_KEPT_MS, WEBHOOK_RETRY_MS } from '@platen/contract/domain/limit.ts'
import { KAFKA_DEAD_BYTES_MAX, KAFKA_QUEUE_KEPT_MS } from '../limit.ts'
import { deletedAfter, type Topic, type TopicSettings } from '../topic.ts'

/** The key is the id of a delivery. It determines the partition, and so the process that handles the delivery. */
export const DUE_TOPIC = 'webhook.due'
/** Records that nobody could read, with the reason. */
export const WEBHOOK_DEAD_TOPIC = 'webhook.dead'
/** The group of all events processes. */
export const WEBHOOK_GROUP = 'webhook'

/** At most this many processes can share the work. */
const DUE_PARTITIONS = 12
/** With one partition, its head is always the next record to forward. Records only wait there; one process forwards thousands a second. */
const DELAY_PARTITIONS = 1

export interface DelayTopic {
  readonly topic: string
  readonly waitMs: number
}

/** Ordered by wait, the shortest first. */
export const DELAY_TOPICS: readonly DelayTopic[] = WEBHOOK_RETRY_MS.map((waitMs) => ({
  topic: `webhook.wait.${waitMs / 1000}s`,
  waitMs,
}))

export const WEBHOOK_TOPICS: readonly string[] = [DUE_TOPIC, ...DELAY_TOPICS.map(({ topic }) => topic)]

/** What a delivery waits for: a free call, or the time of its next attempt. */
export const WEBHOOK_WAITS = [
  { name: 'call', group: WEBHOOK_GROUP, topics: [DUE_TOPIC] },
  { name: 'time', group: WEBHOOK_GROUP, topics: DELAY_TOPICS.map(({ topic }) => topic) },
]

export function webhookTopics({ partitions }: TopicSettings): readonly Topic[] {
  const read = { groups: [WEBHOOK_GROUP], config: deletedAfter(KAFKA_QUEUE_KEPT_MS) }
  return [
    { name: DUE_TOPIC, partitions: Math.min(partitions?.async ?? DUE_PARTITIONS, DUE_PARTITIONS), ...read },
    ...DELAY_TOPICS.map(({ topic }) => ({ name: topic, partitions: DELAY_PARTITIONS, ...read })),
    {
      name: WEBHOOK_DEAD_TOPIC,
      partitions: 1,
      groups: [],
      config: { ...deletedAfter(DEAD_LETTERS_KEPT_MS), 'max.message.bytes': String(KAFKA_DEAD_BYTES_MAX) },
    },
  ]
}
