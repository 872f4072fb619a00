/** Which lane a free slot serves next: `sync` first, then `async` and `bulk` 4:1, and never idle while anything waits it may serve. Pure. */
import type { Lane } from '@platen/contract/render.ts'

/** Async renders that are served for each bulk render while both wait. */
const ASYNC_PER_BULK = 4

/** What a slot remembers between turns: async renders served since the last bulk render. */
export type Turn = number

/** The lanes in the order in which they are to be tried. */
export function laneOrder(turn: Turn): readonly Lane[] {
  return turn < ASYNC_PER_BULK ? ['sync', 'async', 'bulk'] : ['sync', 'bulk', 'async']
}

/** What the slots of an engine are at. */
export interface Load {
  sync: number
  /** Renders nobody waits for on the line. */
  others: number
}

/** May one more async or bulk render begin? Beside a sync render one fewer is under way, as they share the cores, but one goes on. */
export function mayBegin({ sync, others }: Load, slots: number): boolean {
  return others < Math.max(1, sync > 0 ? slots - 1 : slots)
}

/** The order of a slot that is kept for those who wait on the line: no async render is ever before them there. */
export function syncAlone(): readonly Lane[] {
  return ['sync']
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
