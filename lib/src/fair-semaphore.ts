/**
 * A semaphore for something that all tenants share and one could hold for long, such as the threads that check templates. Limits the
 * permits in all and per tenant. Waiting tenants take turns: each acquires one permit before any acquires another.
 */
import { raceAbort } from './race.ts'

export interface FairSemaphoreOptions {
  readonly permits: number
  readonly permitsPerTenant: number
}

export interface FairSemaphore {
  /** Disposing a permit releases it. Rejects with the signal's reason. Without a signal it waits for its turn. */
  readonly acquire: (tenant: string, signal?: AbortSignal) => Promise<Disposable>
}

interface TenantQueue {
  held: number
  readonly waiting: Set<() => void>
}

export function openFairSemaphore({ permits, permitsPerTenant }: FairSemaphoreOptions): FairSemaphore {
  /** By tenant, in the order of their turns. */
  const queues = new Map<string, TenantQueue>()
  let held = 0

  const admitNext = () => {
    for (const [tenant, queue] of queues) {
      if (held >= permits) return
      const [begin] = queue.waiting
      if (begin === undefined || queue.held >= permitsPerTenant) continue
      queue.waiting.delete(begin)
      queue.held += 1
      held += 1
      moveToEnd(tenant, queue)
      begin()
      // Starts again from the first tenant, so that each gets a permit before any gets another.
      return admitNext()
    }
  }

  const deleteIfIdle = (tenant: string, queue: TenantQueue) => {
    if (queue.held === 0 && queue.waiting.size === 0) queues.delete(tenant)
  }

  const moveToEnd = (tenant: string, queue: TenantQueue) => {
    queues.delete(tenant)
    queues.set(tenant, queue)
  }

  return {
    async acquire(tenant, signal) {
      signal?.throwIfAborted()
      const queue = queues.get(tenant) ?? { held: 0, waiting: new Set() }
      queues.set(tenant, queue)
      const { promise, resolve } = Promise.withResolvers<void>()
      queue.waiting.add(resolve)
      admitNext()
      let isReleased = false
      const release = () => {
        if (isReleased) return
        isReleased = true
        queue.held -= 1
        held -= 1
        moveToEnd(tenant, queue)
        deleteIfIdle(tenant, queue)
        admitNext()
      }
      try {
        // Usually granted at once.
        if (queue.waiting.has(resolve)) await (signal === undefined ? promise : raceAbort(promise, signal))
      } catch (reason) {
        // The permit may have been granted at this very moment.
        if (queue.waiting.delete(resolve)) deleteIfIdle(tenant, queue)
        else release()
        throw reason
      }
      return { [Symbol.dispose]: release }
    },
  }
}
