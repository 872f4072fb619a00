/** One renderer pod: its slots take renders by the rules of the product's own worker, `worker/slots.ts` and `worker/sync-queue.ts`. */
import { SYNC_START_MS_MAX } from '@platen/api/admission/limit.ts'
import { LANES, type Lane } from '@platen/contract/domain/render.ts'
import type { QueuedRender } from '@platen/contract/port/render-queue.ts'
import {
  type LaneTurn,
  laneOrder,
  SYNC_ONLY,
  startableLanes,
  syncSlotsOf,
  turnAfter,
} from '@platen/renderer/worker/slots.ts'
import { openSyncQueue } from '@platen/renderer/worker/sync-queue.ts'
import type { PartitionLine, Waiting } from './queue.ts'

export interface RendererSize {
  readonly cores: number
  /** Renders at once; one sync render more may begin. */
  readonly concurrency: number
}

export interface Renderer {
  /** Takes what may begin now. Each ends `forMs` later, when `end` is called with it. */
  begin(now: number, started: (render: Waiting, forMs: number) => void, refused: (render: Waiting) => void): void
  end(render: Waiting): void
  /** Gives back what was taken and not begun, and reads these partitions from now on. */
  assign(lines: readonly PartitionLine[]): void
  /** Taken and not begun. */
  atHand(): number
}

/** A pod with no partitions yet. */
export function openRenderer({ cores, concurrency }: RendererSize): Renderer {
  const slots = concurrency + 1
  const syncSlots = syncSlotsOf(slots, LANES)
  const turns: LaneTurn[] = Array.from({ length: slots }, () => 0)
  const free = new Set(turns.keys())
  const slotOf = new Map<string, number>()
  const load = { sync: 0, others: 0 }
  let lines: readonly PartitionLine[] = []
  let turn = 0
  let atHand = new Map<string, { readonly render: Waiting; readonly line: PartitionLine }>()
  let syncs = openLine()

  function openLine() {
    return openSyncQueue(() => {
      const taken = poll('sync')
      if (taken === undefined) return undefined
      atHand.set(taken.render.id, taken)
      // Of a delivery the line looks at the tenant alone.
      return { record: { id: taken.render.id, tenant: taken.render.tenant } } as unknown as QueuedRender
    })
  }

  /** The partitions take turns, as in the product's consumer. */
  function poll(lane: Lane): { render: Waiting; line: PartitionLine } | undefined {
    for (let i = 0; i < lines.length; i += 1) {
      const line = lines[(turn + i) % lines.length]
      const render = line?.lane === lane ? line.take() : undefined
      if (line === undefined || render === undefined) continue
      turn = (turn + i + 1) % lines.length
      return { render, line }
    }
    return undefined
  }

  function take(lane: Lane, isLastSlot: boolean): Waiting | undefined {
    if (lane !== 'sync') return poll(lane)?.render
    const delivery = syncs.take(isLastSlot)
    if (delivery === undefined) return undefined
    const { render } = atHand.get(delivery.record.id) ?? {}
    atHand.delete(delivery.record.id)
    return render
  }

  return {
    begin(now, started, refused) {
      for (const slot of [...free].toSorted((one, other) => one - other)) {
        for (;;) {
          // The moment after a sync render is left out: it is shorter than a render.
          const known = { ...load, recentSync: load.sync, recentOthers: 0 }
          const isSyncSlotIdle = free.values().some((each) => each < syncSlots)
          const capacity = { served: LANES, load: known, slots: slots - syncSlots, isSyncSlotIdle }
          const lanes = slot < syncSlots ? SYNC_ONLY : startableLanes(laneOrder(turns[slot] ?? 0), capacity)
          const isLastSlot = load.sync + load.others === slots - 1
          const render = lanes
            .values()
            .map((lane) => take(lane, isLastSlot))
            .find((found) => found !== undefined)
          if (render === undefined) break
          turns[slot] = turnAfter(turns[slot] ?? 0, render.lane)
          if (render.lane === 'sync' && now - render.acceptedAt > SYNC_START_MS_MAX) {
            syncs.markEnded(deliveryOf(render))
            refused(render)
            continue
          }
          load[render.lane === 'sync' ? 'sync' : 'others'] += 1
          free.delete(slot)
          slotOf.set(render.id, slot)
          // More renders than cores share them.
          started(render, render.serviceMs * Math.max(1, (load.sync + load.others) / cores))
          break
        }
      }
    },
    end(render) {
      load[render.lane === 'sync' ? 'sync' : 'others'] -= 1
      if (render.lane === 'sync') syncs.markEnded(deliveryOf(render))
      free.add(slotOf.get(render.id) ?? 0)
      slotOf.delete(render.id)
    },
    assign(next) {
      const back = Map.groupBy(atHand.values(), ({ line }) => line)
      for (const [line, taken] of back) line.giveBack(taken.map(({ render }) => render))
      atHand = new Map()
      syncs = openLine()
      lines = next
    },
    atHand: () => atHand.size,
  }
}

function deliveryOf({ id, tenant }: Waiting): QueuedRender {
  return { record: { id, tenant } } as unknown as QueuedRender
}
