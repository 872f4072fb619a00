/**
 * Distinguishes the log of a partition from another log under the same name: an older copy, or one that was created again. Offsets do not
 * suffice, because the other log soon has the same ones. But its records differ in their key, and in the time at which the broker appended
 * them.
 */
import { createHash } from 'node:crypto'
import type { KafkaMessage } from 'kafkajs'

/** A record that was read. A log without it is not the log that was read. */
export interface KnownRecord {
  readonly offset: number
  readonly fingerprint: string
}

/** Long enough that two records never have the same one. Brokers store it with each committed offset. */
const FINGERPRINT_CHARS = 16

/** Undefined if there is none, or something else. */
export function storedFingerprint(metadata: string | null | undefined): string | undefined {
  return /^[0-9a-f]{16}$/.test(metadata ?? '') ? (metadata ?? undefined) : undefined
}

export function knownRecordOf({
  offset,
  key,
  timestamp,
}: Pick<KafkaMessage, 'offset' | 'key' | 'timestamp'>): KnownRecord {
  const content = createHash('sha256')
    .update(`${timestamp} `)
    .update(key ?? '')
  return { offset: Number(offset), fingerprint: content.digest('hex').slice(0, FINGERPRINT_CHARS) }
}

/** Looks for known records in a log while it is fetched. */
interface Search {
  /** From here on the log must have these records. */
  begin(records: readonly KnownRecord[]): void
  /** Returns a record that the log lacks: it has another one in its place, or ends before it. */
  missing(fetched: readonly KafkaMessage[], highWatermark: number): KnownRecord | undefined
  /** Stops looking for records up to the last fetched one. Retention may have deleted some of them. */
  goOn(fetched: readonly KafkaMessage[]): void
  isOver(): boolean
}

export function openSearch(): Search {
  let open: readonly KnownRecord[] = []
  return {
    begin(records) {
      open = records
    },
    missing(fetched, highWatermark) {
      const found = new Map(fetched.map((message) => [Number(message.offset), message]))
      return open.find(({ offset, fingerprint }) => {
        const message = found.get(offset)
        return offset >= highWatermark || (message !== undefined && knownRecordOf(message).fingerprint !== fingerprint)
      })
    },
    goOn(fetched) {
      const last = Number(fetched.at(-1)?.offset ?? -1)
      open = open.filter(({ offset }) => offset > last)
    },
    isOver: () => open.length === 0,
  }
}
