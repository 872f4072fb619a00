/** Which lane a free slot serves next: `sync` first, then `async` and `bulk` 4:1, and never idle while anything waits it may serve. Pure. */
import { SYNC_SLOTS } from '@platen/contract/limit.ts'
import type { Lane } from '@platen/contract/render.ts'

/** Async renders that are served for each bulk render while both wait. */
const ASYNC_PER_BULK = 4

/** What a slot remembers between turns: async renders served since the last bulk render. */
export type LaneTurn = number

/** The lanes in the order in which they are to be tried. */
export function laneOrder(turn: LaneTurn): readonly Lane[] {
  return turn < ASYNC_PER_BULK ? ['sync', 'async', 'bulk'] : ['sync', 'bulk', 'async']
}

/** What the slots of an engine are at. */
export interface SlotLoad {
  sync: number
  /** Renders nobody waits for on the line. */
  others: number
}

export interface SlotCapacity {
  /** The lanes that are served here. */
  readonly served: readonly Lane[]
  readonly load: SlotLoad
  /** Those that are not kept for sync renders. */
  readonly slots: number
}

/**
 * Those of the lanes from which a render may begin now. Beside a sync render one async or bulk render fewer is under way, as they
 * share the cores, but one goes on.
 */
export function startableLanes(order: readonly Lane[], { served, load, slots }: SlotCapacity): readonly Lane[] {
  const othersMax = Math.max(1, load.sync > 0 ? slots - 1 : slots)
  return order.filter((lane) => served.includes(lane) && (lane === 'sync' || load.others < othersMax))
}

/** How many of an engine's slots are kept for sync renders: none where no other lane is served, or there is no other slot. */
export function syncSlotsOf(slots: number, served: readonly Lane[]): number {
  return served.includes('sync') && served.length > 1 ? Math.min(SYNC_SLOTS, slots - 1) : 0
}

/** The order of a slot that is kept for those who wait on the line: no async render is ever before them there. */
export function syncOnly(): readonly Lane[] {
  return ['sync']
}

/** The turn after a lane was served. */
export function turnAfter(turn: LaneTurn, served: Lane): LaneTurn {
  switch (served) {
    case 'sync':
      return turn
    case 'async':
      return Math.min(turn + 1, ASYNC_PER_BULK)
    case 'bulk':
      return 0
  }
}
