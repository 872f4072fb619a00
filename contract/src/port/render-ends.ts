import type { RenderId } from '../domain/render-id.ts'

/**
 * Tells waiters when a render has ended. A view, like the ledger: a wake-up may come too often, and an outage may delay or lose one. So
 * waiters look at the state after each wake-up, and from time to time without one.
 */
export interface RenderEnds {
  /** Call it before looking at the state, so that no end in between is missed. Any number of callers may wait for one render. */
  expect(id: RenderId): PendingEnd
}

export interface PendingEnd extends Disposable {
  /**
   * Resolves when the render has ended since the last call, or its end may have been missed; the ledger then shows the end. The first call
   * resolves at once. Rejects with the signal's reason.
   */
  mayHaveEnded(signal: AbortSignal): Promise<void>
}
