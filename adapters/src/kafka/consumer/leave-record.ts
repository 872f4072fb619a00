import type { NewerFormat } from '@platen/contract/domain/format.ts'
import type { Log } from '@platen/lib/log.ts'
import type { StoredRecord } from '../partition/partition.ts'

/**
 * Logs a record of a newer format than this process reads. The caller does not mark it as done, so the committed offset stays before it,
 * and the next owner of its partition gets it again.
 */
export function leaveRecord({ topic, partition, offset }: StoredRecord, err: NewerFormat, log: Log): void {
  log.error({ topic, partition, offset, err }, 'record of a newer format left in its topic')
}
