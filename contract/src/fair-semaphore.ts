/**
 * Turns at what all tenants share and any of them could hold for long, such as the threads in which templates are checked: some at
 * once, fewer of them one tenant's, and those that wait come in the order of their tenants, each with one of its own after the other.
 */
import { raceAbort } from './race.ts'

export interface FairSemaphoreOptions {
  /** Turns at once, and how many of them may be one tenant's. */
  readonly permits: number
  readonly permitsPerTenant: number
}

export interface FairSemaphore {
  /** Resolves when it is this one's turn; disposing of what it gives ends that. Rejects with the signal's reason. */
  readonly acquire: (tenant: string, signal: AbortSignal) => Promise<Disposable>
}

interface TenantQueue {
  /** Turns it has now. */
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
      // From the first on, as each has its turn before any has another.
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
      signal.throwIfAborted()
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
        await raceAbort(promise, signal)
      } catch (reason) {
        // It may have come at this very moment.
        if (queue.waiting.delete(resolve)) deleteIfIdle(tenant, queue)
        else release()
        throw reason
      }
      return { [Symbol.dispose]: release }
    },
  }
}
