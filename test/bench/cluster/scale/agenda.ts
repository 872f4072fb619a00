/** What happens when, in the order of time; of what happens at one moment, what was put in first. */

export interface Agenda {
  schedule(at: number, act: (at: number) => void): void
  /** Lets all happen that is due before `end`. */
  run(end: number): void
}

interface Entry {
  readonly at: number
  readonly order: number
  readonly act: (at: number) => void
}

/** An empty agenda: a binary heap, as millions of entries go through it. */
export function agenda(): Agenda {
  const heap: Entry[] = []
  let count = 0

  const isBefore = (one: Entry, other: Entry) => one.at < other.at || (one.at === other.at && one.order < other.order)
  const rise = (entry: Entry) => {
    let at = heap.length
    heap.push(entry)
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = heap[up]
      if (parent === undefined || isBefore(parent, entry)) break
      heap[at] = parent
      at = up
    }
    heap[at] = entry
  }
  const sink = (entry: Entry) => {
    let at = 0
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]]
      const down = right !== undefined && left !== undefined && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1
      const child = heap[down]
      if (child === undefined || isBefore(entry, child)) break
      heap[at] = child
      at = down
    }
    heap[at] = entry
  }

  return {
    schedule(at, act) {
      rise({ at, order: count, act })
      count += 1
    },
    run(end) {
      for (let next = heap[0]; next !== undefined && next.at < end; next = heap[0]) {
        const last = heap.pop()
        if (last !== undefined && heap.length > 0) sink(last)
        next.act(next.at)
      }
    },
  }
}
