/**
 * How far one partition is done: the offset before which every record is. Records are done in any order, and a group has only one
 * offset a partition, so it stands before the oldest that is not.
 *
 * It outlives the assignment: after every rebalance the same process is given again what was not committed, and what it has in hand
 * or has done meanwhile is not to be handed out a second time.
 */
export interface Watermark {
  /** A record was fetched. Is it to be handed out? False where it is in hand or done already. */
  begin(offset: number): boolean
  /** A record is done; twice is fine, and so is one that was never begun here. */
  done(offset: number): void
  /** The record goes out of hand and is not done: when it is fetched again, it is handed out again. Only where the partition is not ours any more. */
  release(offset: number): void
  /** The offset to commit; undefined while nothing has been fetched since `restart`. */
  position(): number | undefined
  /** How many records there are between the oldest that is not done and the newest. */
  pendingCount(): number
  /** The partition ends at this offset. Where more than that is done already, its topic was made anew, and nothing is known of it. */
  truncateTo(offset: number): void
  /** The partition is not ours any more: whatever is fetched next may begin anywhere. What is in hand or done stays known. */
  reset(): void
}

/** Of a partition that nothing has been fetched of. */
export function openWatermark(): Watermark {
  /** Every record below it is done. */
  let low = 0
  /** What was fetched since the start and is not below the position, ascending: without a gap, whatever gaps the offsets have. */
  let begun: number[] = []
  /** The offset after the last one fetched. */
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

/** Offsets come in order, but for those that are fetched again. */
function insert(sorted: number[], offset: number): void {
  let at = sorted.length
  for (let last = sorted[at - 1]; last !== undefined && last >= offset; last = sorted[at - 1]) {
    if (last === offset) return
    at--
  }
  sorted.splice(at, 0, offset)
}
