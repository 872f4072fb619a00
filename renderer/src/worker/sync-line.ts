/**
 * The sync renders that are at hand, in the order of their tenants. A lane is one line for all: whoever sends forty renders that run into
 * their deadline would have everybody behind them wait until nobody asks any more. Here each tenant has its turn after one of each other,
 * and the last slot that is free goes only to one that has no sync render in hand.
 */
import type { QueuedRender } from '@platen/contract/port/render-queue.ts'
import type { TenantId } from '@platen/contract/tenant.ts'
import { SYNC_BUFFERED_MAX } from '@platen/contract/worker-limit.ts'

export interface SyncLine {
  /** The next that may begin, `isLastSlot` saying whether no other slot is free; undefined where none may. */
  take(isLastSlot: boolean): QueuedRender | undefined
  /** One that was taken has ended. */
  ended(delivery: QueuedRender): void
}

/** `poll` gives the next of the lane, first come first. */
export function openSyncLine(poll: () => QueuedRender | undefined): SyncLine {
  /** Those that wait, by tenant, whose turn comes first at the beginning. */
  const lines = new Map<TenantId, QueuedRender[]>()
  const inHand = new Map<TenantId, number>()
  let waiting = 0

  const fill = () => {
    while (waiting < SYNC_BUFFERED_MAX) {
      const delivery = poll()
      if (delivery === undefined) return
      const { tenant } = delivery.record
      const line = lines.get(tenant)
      if (line === undefined) lines.set(tenant, [delivery])
      else line.push(delivery)
      waiting += 1
    }
  }

  return {
    take(isLastSlot) {
      fill()
      for (const [tenant, line] of lines) {
        if (isLastSlot && inHand.has(tenant)) continue
        const delivery = line.shift()
        // Its next turn comes after one of each other.
        lines.delete(tenant)
        if (line.length > 0) lines.set(tenant, line)
        if (delivery === undefined) continue
        waiting -= 1
        inHand.set(tenant, (inHand.get(tenant) ?? 0) + 1)
        return delivery
      }
      return undefined
    },
    ended({ record: { tenant } }) {
      const left = (inHand.get(tenant) ?? 1) - 1
      if (left > 0) inHand.set(tenant, left)
      else inHand.delete(tenant)
    },
  }
}
