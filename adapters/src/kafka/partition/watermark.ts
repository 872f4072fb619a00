/**
 * The progress in one partition: the offset before which every record is done. Records are done in any order, but a group has only one
 * offset per partition, so it commits the offset of the oldest record that is not done.
 *
 * A watermark outlives the assignment. After each rebalance the same process gets the uncommitted records again. Records that are in
 * hand or done by then must not be handed out a second time.
 */
export interface Watermark {
  /** Registers a fetched record. Returns whether to hand it out: false if it is in hand or done already. */
  begin(offset: number): boolean
  /** Marks a record as done. May be repeated, and the record may be unknown here. */
  done(offset: number): void
  /** The record is no longer in hand and not done: if fetched again, it is handed out again. Only after the partition was revoked. */
  release(offset: number): void
  /** The offset to commit; undefined if nothing was fetched since `reset`. */
  position(): number | undefined
  /** The number of records from the oldest one that is not done to the newest. */
  pendingCount(): number
  /** The partition ends at this offset. If later offsets are done, the topic was created anew, and everything known is dropped. */
  truncateTo(offset: number): void
  /** The partition was revoked: the next fetch may begin at any offset. Records in hand or done stay known. */
  reset(): void
}

/** Opens a watermark for a partition of which nothing was fetched. */
export function openWatermark(): Watermark {
  /** Every record below this offset is done. */
  let low = 0
  /** Offsets fetched since the last reset, from the position on, ascending. Complete, although offsets themselves may have gaps. */
  let begun: number[] = []
  /** The offset after the last fetched record. */
  let next: number | undefined
  const known = new Map<number, 'open' | 'done'>()

  const advance = () => {
    let count = 0
    for (const offset of begun) {
      if (known.get(offset) !== 'done') break
      known.delete(offset)
      low = offset + 1
      count++
    }
    if (count > 0) begun = begun.slice(count)
  }

  return {
    begin(offset) {
      next = Math.max(next ?? 0, offset + 1, low)
      if (offset < low) return false
      insert(begun, offset)
      if (!known.has(offset)) {
        known.set(offset, 'open')
        return true
      }
      advance()
      return false
    },
    done(offset) {
      if (offset < low) {
        known.delete(offset)
        return
      }
      known.set(offset, 'done')
      advance()
    },
    release(offset) {
      if (known.get(offset) === 'open') known.delete(offset)
    },
    position: () => begun[0] ?? next,
    pendingCount: () => begun.length,
    truncateTo(offset) {
      if (offset >= low) return
      low = 0
      begun = []
      next = undefined
      known.clear()
    },
    reset() {
      begun = []
      next = undefined
    },
  }
}

/** Inserts an offset. Offsets come in order, except those that are fetched again. */
function insert(sorted: number[], offset: number): void {
  let at = sorted.length
  for (let last = sorted[at - 1]; last !== undefined && last >= offset; last = sorted[at - 1]) {
    if (last === offset) return
    at--
  }
  sorted.splice(at, 0, offset)
}
