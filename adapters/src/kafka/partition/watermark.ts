import type { KnownRecord } from '../client/fingerprint.ts'

/**
 * The progress in one partition: the offset before which every record is done. Records are done in any order, but a group has only one
 * offset per partition, so it commits the offset of the oldest record that is not done.
 *
 * A watermark outlives the assignment. After each rebalance the same process gets the uncommitted records again. Records that are in
 * hand or done by then must not be handed out a second time.
 */
export interface Watermark {
  /** Registers a fetched record. Returns whether to hand it out: false if it is in hand or done already. */
  begin(record: KnownRecord): boolean
  /** May be repeated; the record may be unknown here. */
  done(offset: number): void
  /** The record is neither in hand nor done: if fetched again, it is handed out again. Only after the partition was revoked. */
  release(offset: number): void
  /** Undefined if nothing was fetched since `reset`. */
  position(): Position | undefined
  /** The number of records from the oldest one that is not done to the newest. */
  pendingCount(): number
  /** The fetched record with the highest offset. What is known here holds only for a log that contains it. */
  last(): KnownRecord | undefined
  /** Every record below this offset is done: it is committed. If nothing was fetched yet, it may be lower than before. */
  pass(offset: number): void
  /** The partition was revoked: the next fetch may begin at any offset. Records in hand or done stay known. */
  reset(): void
}

export interface Position {
  readonly offset: number
  /** The fingerprint of the record before it, if known. */
  readonly fingerprint: string | undefined
}

export function openWatermark(): Watermark {
  /** Every record below this offset is done. */
  let low = 0
  /** Records fetched since the last reset, from the position on, ascending. Offsets may have gaps. */
  let begun: KnownRecord[] = []
  /** The offset after the last fetched record. */
  let next: number | undefined
  let last: KnownRecord | undefined
  /** The last fetched record below the position. */
  let before: KnownRecord | undefined
  const known = new Map<number, 'open' | 'done'>()

  const advance = () => {
    let count = 0
    for (const record of begun) {
      if (record.offset >= low && known.get(record.offset) !== 'done') break
      known.delete(record.offset)
      low = Math.max(low, record.offset + 1)
      before = record
      count++
    }
    if (count > 0) begun = begun.slice(count)
  }

  return {
    begin(record) {
      const { offset } = record
      next = Math.max(next ?? 0, offset + 1, low)
      last = laterOf(last, record)
      if (offset < low) {
        before = laterOf(before, record)
        return false
      }
      insert(begun, record)
      if (!known.has(offset)) {
        known.set(offset, 'open')
        return true
      }
      advance()
      return false
    },
    done(offset) {
      if (offset < low) return void known.delete(offset)
      known.set(offset, 'done')
      advance()
    },
    release(offset) {
      if (known.get(offset) === 'open') known.delete(offset)
    },
    position: () => positionAfter(before, begun[0]?.offset ?? next),
    pendingCount: () => begun.length,
    last: () => last,
    pass(offset) {
      next = Math.max(next ?? 0, offset)
      // If no record was fetched, a lower offset belongs to another log, for example of a topic that was created again.
      if (last === undefined) low = offset
      if (offset <= low) return
      low = offset
      for (const each of known.keys()) if (each < low) known.delete(each)
      advance()
    },
    reset() {
      begun = []
      next = undefined
    },
  }
}

function laterOf(known: KnownRecord | undefined, fetched: KnownRecord): KnownRecord {
  return known !== undefined && known.offset > fetched.offset ? known : fetched
}

function positionAfter(before: KnownRecord | undefined, offset: number | undefined): Position | undefined {
  if (offset === undefined) return undefined
  return { offset, fingerprint: before?.offset === offset - 1 ? before.fingerprint : undefined }
}

/** Offsets come in order, except those that are fetched again. */
function insert(sorted: KnownRecord[], record: KnownRecord): void {
  let at = sorted.length
  for (let last = sorted[at - 1]; last !== undefined && last.offset >= record.offset; last = sorted[at - 1]) {
    if (last.offset === record.offset) return
    at--
  }
  sorted.splice(at, 0, record)
}
