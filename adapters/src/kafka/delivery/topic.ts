/** The topics of webhook deliveries: one from which all are given out, one per wait, and one for what nobody can read. */
import { KAFKA_DEAD_BYTES_MAX, KAFKA_QUEUE_KEPT_MS } from '@platen/contract/kafka-limit.ts'
import { DEAD_LETTERS_KEPT_MS } from '@platen/contract/limit.ts'
import { WEBHOOK_RETRY_MS } from '@platen/contract/webhook-limit.ts'
import { deletedAfter, type Topic, type TopicSettings } from '../topic.ts'

/** What is due. A delivery's key decides on the partition, and so on the one process that gives it out. */
export const DUE_TOPIC = 'webhook.due'
/** What nobody could make sense of, with the reason. */
export const WEBHOOK_DEAD_TOPIC = 'webhook.dead'
/** The group of all events processes. */
export const WEBHOOK_GROUP = 'webhook'

/** No more processes than that can share the work. */
const DUE_PARTITIONS = 12
/**
 * A rung is one line: its head is the next to ripen, whoever reads it. It only waits there; one process passes on thousands a second.
 */
const DELAY_PARTITIONS = 1

/** A wait there is a topic for. */
export interface DelayTopic {
  readonly topic: string
  readonly waitMs: number
}

/** The shortest wait first. */
export const DELAY_TOPICS: readonly DelayTopic[] = WEBHOOK_RETRY_MS.map((waitMs) => ({
  topic: `webhook.wait.${waitMs / 1000}s`,
  waitMs,
}))

/** What members of the group read: all of them the same. */
export const WEBHOOK_TOPICS: readonly string[] = [DUE_TOPIC, ...DELAY_TOPICS.map(({ topic }) => topic)]

/** For `prepareTopics`. */
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
