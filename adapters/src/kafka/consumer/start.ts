/**
 * Where the partitions of a group start: at their committed offsets. Each offset is committed with the fingerprint of the record before it,
 * so that a reader can tell whether the log is still the same.
 */
import { raceAbort } from '@platen/lib/race.ts'
import { storedFingerprint } from '../client/fingerprint.ts'
import { type KafkaConnection, throwUnavailable } from '../connect.ts'
import { partitionName } from '../partition/partition.ts'
import type { Position } from '../partition/watermark.ts'
import type { ConsumerSettings } from './group-consumer.ts'

export interface PartitionStart {
  readonly position: Position
  /** The committed offset, even if the log does not have it; undefined = none. */
  readonly committed: number | undefined
  /** The offset after the last record. */
  readonly end: number
}

/** Returns the starts by partition name. Throws `Unavailable`, or rejects with the signal's reason. */
export async function readStarts(
  connection: KafkaConnection,
  { group, topics }: Pick<ConsumerSettings, 'group' | 'topics'>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PartitionStart>> {
  const admin = await connection.admin()
  const reading = Promise.all([
    admin.fetchOffsets({ groupId: group, topics: [...topics] }),
    ...topics.map(async (topic) => ({ topic, ranges: await admin.fetchTopicOffsets(topic) })),
  ])
  const [committed, ...logs] = await raceAbort(reading, signal).catch((cause: unknown) => {
    signal.throwIfAborted()
    return throwUnavailable(cause)
  })
  const positions = new Map(
    committed.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset, metadata }) => {
        const position = { offset: Number(offset), fingerprint: storedFingerprint(metadata) }
        return [partitionName(topic, partition), position] as const
      }),
    ),
  )
  return new Map(
    logs.flatMap(({ topic, ranges }) =>
      ranges.map(({ partition, low, high }) => {
        const name = partitionName(topic, partition)
        const [first, end] = [Number(low), Number(high)]
        const known = positions.get(name)
        // kafkajs returns -1 if nothing is committed.
        const committed = known === undefined || known.offset < 0 ? undefined : known.offset
        return [name, { position: startOf(known, { first, end }), committed, end }] as const
      }),
    ),
  )
}

interface LogRange {
  readonly first: number
  readonly end: number
}

/**
 * Returns the committed offset, or the first one if the log does not have the committed one. The first record has none before it to
 * compare.
 */
export function startOf(committed: Position | undefined, { first, end }: LogRange): Position {
  const isInLog = committed !== undefined && committed.offset >= first && committed.offset <= end
  if (!isInLog || committed.offset === first) return { offset: first, fingerprint: undefined }
  return committed
}
