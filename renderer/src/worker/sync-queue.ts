/**
 * Buffers sync renders and serves their tenants in turn. A lane itself is first in, first out: a tenant that sends forty renders which run
 * into their deadline would block all others until their callers have left. Here a tenant is served again only after every other tenant.
 * The last free slot goes only to a tenant without a running sync render.
 */

import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { QueuedRender } from '@platen/contract/port/render-queue.ts'
import { SYNC_BUFFERED_MAX } from './limit.ts'

export interface SyncQueue {
  take(isLastSlot: boolean): QueuedRender | undefined
  /** Call it when a render from `take` has ended. */
  markEnded(queued: QueuedRender): void
}

/** `poll` returns the next render of the lane, in order of arrival. */
export function openSyncQueue(poll: () => QueuedRender | undefined): SyncQueue {
  /** The first tenant is served next. */
  const byTenant = new Map<TenantId, QueuedRender[]>()
  const running = new Map<TenantId, number>()
  let waiting = 0

  const fill = () => {
    while (waiting < SYNC_BUFFERED_MAX) {
      const queued = poll()
      if (queued === undefined) return
      const { tenant } = queued.record
      const waitingOfTenant = byTenant.get(tenant)
      if (waitingOfTenant === undefined) byTenant.set(tenant, [queued])
      else waitingOfTenant.push(queued)
      waiting += 1
    }
  }

  return {
    take(isLastSlot) {
      fill()
      for (const [tenant, waitingOfTenant] of byTenant) {
        if (isLastSlot && running.has(tenant)) continue
        const queued = waitingOfTenant.shift()
        byTenant.delete(tenant)
        if (waitingOfTenant.length > 0) byTenant.set(tenant, waitingOfTenant)
        if (queued === undefined) continue
        waiting -= 1
        running.set(tenant, (running.get(tenant) ?? 0) + 1)
        return queued
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
