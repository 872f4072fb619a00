/** The lanes of one engine as topics with partitions, shared out among renderers as Kafka does it. */
import type { Lane } from '@platen/contract/domain/render.ts'
import { LANES } from '@platen/contract/domain/render.ts'

/** A render on its way, with times in milliseconds of the simulation. */
export interface Waiting {
  readonly id: string
  readonly tenant: string
  readonly lane: Lane
  readonly acceptedAt: number
  readonly serviceMs: number
}

/** One line in its order. */
export interface PartitionLine {
  readonly lane: Lane
  put(render: Waiting): void
  take(): Waiting | undefined
  /** Puts in front what was taken and not begun. */
  giveBack(renders: readonly Waiting[]): void
  waiting(): number
}

export type Topics = Readonly<Record<Lane, readonly PartitionLine[]>>

export function openTopics(partitions: Readonly<Record<Lane, number>>): Topics {
  const lines = (lane: Lane) => Array.from({ length: partitions[lane] }, () => openLine(lane))
  return { sync: lines('sync'), async: lines('async'), bulk: lines('bulk') }
}

function openLine(lane: Lane): PartitionLine {
  let line: Waiting[] = []
  let head = 0
  return {
    lane,
    put: (render) => void line.push(render),
    take() {
      const render = line[head]
      if (render === undefined) return undefined
      head += 1
      if (head > 10_000) {
        line = line.slice(head)
        head = 0
      }
      return render
    },
    waiting: () => line.length - head,
    giveBack(renders) {
      line = [...renders, ...line.slice(head)]
      head = 0
    },
  }
}

/** Shares the partitions of each lane out among so many members, one after the other: who has which. */
export function assign(topics: Topics, members: number): readonly (readonly PartitionLine[])[] {
  const shares = Array.from({ length: members }, () => new Array<PartitionLine>())
  for (const lane of LANES) topics[lane].forEach((line, at) => void shares[at % members]?.push(line))
  return shares
}
