/** Waits for the ends of renders within one process, for the adapters of `RenderEnds`. */
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'
import type { RenderId } from '../domain/render-id.ts'
import type { RenderEnds } from './render-ends.ts'

interface EndWaiters extends RenderEnds {
  ended(id: RenderId): void
  /** Wakes all waiters, because ends may have been missed. */
  missed(): void
}

/** Keeps only renders that somebody waits for. */
export function openEndWaiters(): EndWaiters {
  const waiters = new Map<RenderId, Set<Notifier>>()
  const wake = (notifiers: Iterable<Notifier> = []) => {
    for (const notifier of notifiers) notifier.notify()
  }
  return {
    expect(id) {
      const notifier = openNotifier()
      const others = waiters.get(id) ?? new Set()
      waiters.set(id, others.add(notifier))
      return {
        mayHaveEnded: (signal) => notifier.wait(signal),
        [Symbol.dispose]() {
          others.delete(notifier)
          if (others.size === 0 && waiters.get(id) === others) waiters.delete(id)
        },
      }
    },
    ended: (id) => wake(waiters.get(id)),
    missed() {
      for (const notifiers of waiters.values()) wake(notifiers)
    },
  }
}
