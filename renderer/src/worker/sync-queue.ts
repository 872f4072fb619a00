/**
 * The sync renders that are at hand, in the order of their tenants. A lane is one line for all: whoever sends forty renders that run into
 * their deadline would have everybody behind them wait until nobody asks any more. Here each tenant has its turn after one of each other,
 * and the last slot that is free goes only to one that has no sync render in hand.
 */
import type { QueuedRender } from '@platen/contract/port/render-queue.ts'
import type { TenantId } from '@platen/contract/tenant.ts'
import { SYNC_BUFFERED_MAX } from '@platen/contract/worker-limit.ts'

export interface SyncQueue {
  /** The next that may begin, `isLastSlot` saying whether no other slot is free; undefined where none may. */
  take(isLastSlot: boolean): QueuedRender | undefined
  /** One that was taken has ended. */
  markEnded(delivery: QueuedRender): void
}

/** `poll` gives the next of the lane, first come first. */
export function openSyncQueue(poll: () => QueuedRender | undefined): SyncQueue {
  /** Those that wait, by tenant, whose turn comes first at the beginning. */
  const byTenant = new Map<TenantId, QueuedRender[]>()
  const running = new Map<TenantId, number>()
  let waiting = 0

  const fill = () => {
    while (waiting < SYNC_BUFFERED_MAX) {
      const delivery = poll()
      if (delivery === undefined) return
      const { tenant } = delivery.record
      const waitingOfTenant = byTenant.get(tenant)
      if (waitingOfTenant === undefined) byTenant.set(tenant, [delivery])
      else waitingOfTenant.push(delivery)
      waiting += 1
    }
  }

  return {
    take(isLastSlot) {
      fill()
      for (const [tenant, waitingOfTenant] of byTenant) {
        if (isLastSlot && running.has(tenant)) continue
        const delivery = waitingOfTenant.shift()
        // Its next turn comes after one of each other.
        byTenant.delete(tenant)
        if (waitingOfTenant.length > 0) byTenant.set(tenant, waitingOfTenant)
        if (delivery === undefined) continue
        waiting -= 1
        running.set(tenant, (running.get(tenant) ?? 0) + 1)
        return delivery
      }
      return undefined
    },
    markEnded({ record: { tenant } }) {
      const left = (running.get(tenant) ?? 1) - 1
      if (left > 0) running.set(tenant, left)
      else running.delete(tenant)
    },
  }
}
