/**
 * Renders that another renderer has claimed. They arrive when a partition moves to us while one of its renders runs elsewhere. The other
 * renderer finishes the render, releases it, or is dead and its claim expires. Until then such renders wait here without a slot, and we
 * check them from time to time.
 */

import type { Lane } from '@platen/contract/domain/render.ts'
import type { QueuedRender } from '@platen/contract/port/render-queue.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { HELD_POLL_MS_MAX } from '../limit.ts'

/** Renders that wait without a slot: those in progress in a few renderers whose partitions were reassigned. */
const DEFERRED_RENDERS_MAX = 256

export interface DeferredRenders {
  /**
   * Takes a render that is claimed elsewhere until `until`. Resolves at once; if too many renders wait here already, resolves when this one
   * is due again.
   */
  add(queued: QueuedRender, until: Instant): Promise<void>
  poll(lane: Lane): QueuedRender | undefined
}

interface DeferredOptions {
  readonly clock: Clock
  /** Called when `poll` may return a new render. */
  readonly onDue: () => void
  /** When it aborts, waiting renders are forgotten: the queue still has them. */
  readonly signal: AbortSignal
}

export function openDeferredRenders({ clock, onDue, signal }: DeferredOptions): DeferredRenders {
  const due: QueuedRender[] = []
  let waiting = 0

  const wait = async (queued: QueuedRender, until: Instant) => {
    waiting += 1
    // Check before `until`: most are finished or released before their claim expires.
    const waitMs = Math.min(Math.max(until - clock.now(), 1), HELD_POLL_MS_MAX)
    await clock.sleep(waitMs, signal).catch(() => undefined)
    waiting -= 1
    due.push(queued)
    onDue()
  }

  return {
    async add(queued, until) {
      const isFull = waiting + due.length >= DEFERRED_RENDERS_MAX
      const waited = wait(queued, until)
      if (isFull) await waited
    },
    poll(lane) {
      const at = due.findIndex(({ record }) => record.lane === lane)
      return at < 0 ? undefined : due.splice(at, 1)[0]
    },
  }
}
