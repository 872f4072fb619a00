/** Which lane a free slot serves next: `sync` first, then `async` and `bulk` 4:1, and never idle while anything waits. Pure. */
import type { Lane } from '@platen/contract/render.ts'

/** Async renders that are served for each bulk render while both wait. */
const ASYNC_PER_BULK = 4

/** What a slot remembers between turns: async renders served since the last bulk render. */
export type Turn = number

/** The lanes in the order in which they are to be tried. */
export function laneOrder(turn: Turn): readonly Lane[] {
  return turn < ASYNC_PER_BULK ? ['sync', 'async', 'bulk'] : ['sync', 'bulk', 'async']
}

/** The turn after a lane was served. */
export function turnAfter(turn: Turn, served: Lane): Turn {
  switch (served) {
    case 'sync':
      return turn
    case 'async':
      return Math.min(turn + 1, ASYNC_PER_BULK)
    case 'bulk':
      return 0
  }
}
