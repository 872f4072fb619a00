/** Records that nobody can work with, kept as they were, with the reason and the place they came from. */
import type { KafkaConnection } from './connect.ts'
import type { StoredRecord } from './partition/partition.ts'

/** What a dead letter's headers add to those of the record. */
export const DEAD_HEADERS = {
  reason: 'platen-reason',
  topic: 'platen-topic',
  partition: 'platen-partition',
  offset: 'platen-offset',
} as const

/** Why a record is buried: told in its headers, so it quotes nothing of it. */
const REASON_CHARS_MAX = 1000

interface DeadLetterOptions {
  readonly record: StoredRecord
  readonly reason: string
  /** Where it is put aside, with the prefix. */
  readonly deadTopic: string
}

/** Resolves when the dead letter is durable. Throws `Unavailable`; done again, it is there twice. */
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
