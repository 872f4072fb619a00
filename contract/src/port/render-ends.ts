import type { RenderId } from '../domain/render-id.ts'

/**
 * Tells those who wait for a render when it has ended. A view, like the ledger: it may wake somebody too often, and an outage may delay or
 * lose a wake-up. So whoever waits looks at the state after each wake-up, and from time to time without one.
 */
export interface RenderEnds {
  /** Call it before looking at the state, so that no end between the two is missed. Any number of callers may wait for one render. */
  expect(id: RenderId): PendingEnd
}

/** Disposing it frees it. */
export interface PendingEnd extends Disposable {
  /**
   * Resolves when the render has ended, or its end may have been missed, since the last call. The first call resolves at once. By then a
   * ledger shows the end. Rejects with the signal's reason.
   */
  mayHaveEnded(signal: AbortSignal): Promise<void>
}
