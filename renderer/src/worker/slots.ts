/**
 * Decides which lane a free slot serves next: `sync` first, then `async` and `bulk` 4:1. Beside sync renders, a slot may pause between two
 * others. Apart from that, it is never idle while a render waits that it may serve. Pure.
 */
import { SYNC_SLOTS } from '@platen/contract/domain/limit.ts'
import type { Lane } from '@platen/contract/domain/render.ts'

/** Async renders per bulk render while both lanes have renders. */
export const ASYNC_PER_BULK = 4

/** The async renders that a slot served since its last bulk render. */
export type LaneTurn = number

export function laneOrder(turn: LaneTurn): readonly Lane[] {
  return turn < ASYNC_PER_BULK ? ['sync', 'async', 'bulk'] : ['sync', 'bulk', 'async']
}

export interface SlotLoad {
  sync: number
  /** Running sync renders, and those that ended a moment ago: their caller may be about to send the next one. */
  recentSync: number
  /** Running async and bulk renders. */
  others: number
  /** Async and bulk renders that ended a moment ago beside a sync one. */
  recentOthers: number
}

export interface SlotCapacity {
  readonly served: readonly Lane[]
  readonly load: SlotLoad
  /** The slots that are not reserved for sync renders. */
  readonly slots: number
  readonly isSyncSlotIdle: boolean
}

interface AllSlots {
  readonly load: SlotLoad
  readonly slots: number
  readonly syncSlots: number
}

/**
 * The lanes from which a render may begin now in a slot that is not reserved for sync renders. An idle reserved slot takes sync renders,
 * which would otherwise take the place of an async or bulk one. While a sync render runs, and for a moment after it, one async or bulk
 * render fewer may run, because they share the cores, but always at least one. If that is the only one, the next one begins a moment later,
 * to leave the cores to the sync renders.
 */
export function startableLanes(order: readonly Lane[], capacity: SlotCapacity): readonly Lane[] {
  const { served, load, slots, isSyncSlotIdle } = capacity
  const othersMax = othersMaxOf(load, slots)
  const isPause = load.recentSync > 0 && load.recentOthers > 0 && othersMax === 1
  const mayOthers = load.others < othersMax && !isPause
  return order.filter((lane) => served.includes(lane) && (lane === 'sync' ? !isSyncSlotIdle : mayOthers))
}

/**
 * How full the slots are for a lane, from 0 to 1. At 1, no render of the lane may begin until another one ends. `slots` counts all slots.
 * The share of busy slots alone would never be 1 without sync renders, because no other lane may use the reserved ones.
 */
export function saturationOf(lane: Lane, { load, slots, syncSlots }: AllSlots): number {
  const all = (load.sync + load.others) / slots
  const own = lane === 'sync' ? all : load.others / othersMaxOf(load, slots - syncSlots)
  return Math.min(1, Math.max(all, own))
}

function othersMaxOf(load: SlotLoad, slots: number): number {
  return Math.max(1, load.recentSync > 0 ? slots - 1 : slots)
}

/** The slots of an engine that are reserved for sync renders. None if the worker serves no other lane or has only one slot. */
export function syncSlotsOf(slots: number, served: readonly Lane[]): number {
  return served.includes('sync') && served.length > 1 ? Math.min(SYNC_SLOTS, slots - 1) : 0
}

/** The lanes of a slot that is reserved for sync renders: no async render is ever before them. */
export const SYNC_ONLY: readonly Lane[] = ['sync']

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
