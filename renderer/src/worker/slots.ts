/**
 * Decides which lane a free slot serves next: `sync` first, then `async` and `bulk` 4:1. A slot is never idle while a render waits that it
 * may serve. Pure.
 */
import { SYNC_SLOTS } from '@platen/contract/limit.ts'
import type { Lane } from '@platen/contract/render.ts'

/** Async renders per bulk render while both lanes have renders. */
const ASYNC_PER_BULK = 4

/** What a slot remembers between renders: the async renders it served since the last bulk render. */
export type LaneTurn = number

/** The lanes in the order in which to try them. */
export function laneOrder(turn: LaneTurn): readonly Lane[] {
  return turn < ASYNC_PER_BULK ? ['sync', 'async', 'bulk'] : ['sync', 'bulk', 'async']
}

/** How many renders the slots of an engine run now. */
export interface SlotLoad {
  sync: number
  /** Async and bulk renders. */
  others: number
}

export interface SlotCapacity {
  /** The lanes that this worker serves. */
  readonly served: readonly Lane[]
  readonly load: SlotLoad
  /** The slots that are not reserved for sync renders. */
  readonly slots: number
}

/**
 * The lanes from which a render may begin now. While a sync render runs, one async or bulk render fewer may run, because they share the
 * cores. But at least one may always run.
 */
export function startableLanes(order: readonly Lane[], { served, load, slots }: SlotCapacity): readonly Lane[] {
  const othersMax = Math.max(1, load.sync > 0 ? slots - 1 : slots)
  return order.filter((lane) => served.includes(lane) && (lane === 'sync' || load.others < othersMax))
}

/** How many slots of an engine are reserved for sync renders. None if the worker serves no other lane or has only one slot. */
export function syncSlotsOf(slots: number, served: readonly Lane[]): number {
  return served.includes('sync') && served.length > 1 ? Math.min(SYNC_SLOTS, slots - 1) : 0
}

/** The order of a slot that is reserved for sync renders: no async render is ever before them. */
export function syncOnly(): readonly Lane[] {
  return ['sync']
}

/** The turn after a render of the lane `served`. */
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
