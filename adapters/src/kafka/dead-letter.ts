import type { KafkaConnection } from './connect.ts'
import type { StoredRecord } from './partition/partition.ts'

/** Added to the headers of the record. */
const DEAD_HEADERS = {
  reason: 'platen-reason',
  topic: 'platen-topic',
  partition: 'platen-partition',
  offset: 'platen-offset',
} as const

/** The reason is stored in a header, and quotes nothing of the record. */
const REASON_CHARS_MAX = 1000

interface DeadLetterOptions {
  readonly record: StoredRecord
  readonly reason: string
  /** Full name, with the prefix. */
  readonly deadTopic: string
}

/**
 * Stores the record unchanged, with the reason and its position. Resolves when that is durable. Throws `Unavailable`. A repeated call
 * stores it twice.
 */
export async function deadLetterRecord(
  connection: Pick<KafkaConnection, 'send'>,
  { record, reason, deadTopic }: DeadLetterOptions,
  signal: AbortSignal,
): Promise<void> {
  const { key, value, headers, topic, partition, offset } = record
  const added = {
    [DEAD_HEADERS.reason]: reason.slice(0, REASON_CHARS_MAX),
    [DEAD_HEADERS.topic]: topic,
    [DEAD_HEADERS.partition]: String(partition),
    [DEAD_HEADERS.offset]: String(offset),
  }
  await connection.send(deadTopic, [{ key, value, headers: { ...headers, ...added } }], signal)
}
