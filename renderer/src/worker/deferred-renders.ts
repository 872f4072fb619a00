/**
 * Renders that another renderer holds. They come when a partition has changed hands while a render in it was under way: the other
 * ends it, gives it back, or is dead and its claim lapses. Until then they wait here, without a slot, and are looked at now and then.
 */
import type { Instant } from '@platen/contract/brand.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { QueuedRender } from '@platen/contract/port/render-queue.ts'
import type { Lane } from '@platen/contract/render.ts'
import { DEFERRED_RENDERS_MAX, HELD_POLL_MS_MAX } from '@platen/contract/worker-limit.ts'

export interface DeferredRenders {
  /** Takes a render that is held until then. Resolves at once; where too many are here already, when it is to be looked at again. */
  add(delivery: QueuedRender, until: Instant): Promise<void>
  /** The next render of a lane that is to be looked at again. */
  poll(lane: Lane): QueuedRender | undefined
}

interface DeferredOptions {
  readonly clock: Clock
  /** Called when `poll` may give something it did not give before. */
  readonly onDue: () => void
  /** Those here are forgotten when it aborts: their queue has them. */
  readonly signal: AbortSignal
}

/** A place where nothing is yet. */
export function openDeferredRenders({ clock, onDue, signal }: DeferredOptions): DeferredRenders {
  const due: QueuedRender[] = []
  let waiting = 0

  const wait = async (delivery: QueuedRender, until: Instant) => {
    waiting += 1
    // Not until then: most are done with, or given back, before their claim lapses.
    const waitMs = Math.min(Math.max(until - clock.now(), 1), HELD_POLL_MS_MAX)
    await clock.sleep(waitMs, signal).catch(() => undefined)
    waiting -= 1
    due.push(delivery)
    onDue()
  }

  return {
    async add(delivery, until) {
      const isFull = waiting + due.length >= DEFERRED_RENDERS_MAX
      const waited = wait(delivery, until)
      if (isFull) await waited
    },
    poll(lane) {
      const at = due.findIndex(({ record }) => record.lane === lane)
      return at < 0 ? undefined : due.splice(at, 1)[0]
    },
  }
}
