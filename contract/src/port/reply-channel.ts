import type { Failure } from '../domain/render.ts'
import type { RenderId } from '../domain/render-id.ts'

/** Sent from the renderer to the API process that holds the connection of a sync render. */
export type Reply =
  | {
      readonly kind: 'rendered'
      /** In order. */
      readonly pdf: readonly Uint8Array[]
      /** True if nobody else reads the pieces, so the sender may free their memory. */
      readonly isOwned?: boolean
      readonly durationMs: number
      /** In hex. */
      readonly sha256: string
      readonly pages: number
      readonly warnings: number
    }
  | { readonly kind: 'failed'; readonly error: Failure; readonly durationMs: number }

/**
 * Carries the replies of sync renders. Nothing in it is durable: the render's manifest has the outcome as well. If a reply may have been
 * lost, `broken` tells its waiter. If the channel does not notice the loss, the waiter reaches its deadline.
 */
export interface ReplyChannel {
  /** API side. Call it before the render is enqueued, so that no reply comes too early. */
  expect(id: RenderId): PendingReply
  /** Renderer side: this render was claimed and starts. */
  notifyStarted(id: RenderId): void
  /** Renderer side. Resolves when the reply was passed on. A reply without a waiter is dropped. */
  reply(id: RenderId, reply: Reply, signal: AbortSignal): Promise<void>
  /** Renderer side: aborts when the caller has gone. Its listener is freed when `reply` is called or `until` aborts. */
  callerGone(id: RenderId, until: AbortSignal): AbortSignal
}

/** Disposed before the reply, it tells the renderer that the caller has gone, if the channel works. */
export interface PendingReply extends Disposable {
  /** Rejects with the signal's reason. */
  started(signal: AbortSignal): Promise<void>
  /** Rejects with the signal's reason. */
  reply(signal: AbortSignal): Promise<Reply>
  /**
   * Resolves once something about this render may be missed, because the channel cannot receive or has lost it; stays so when the channel
   * receives again. The waiter must then check the stored outcome, too. Rejects with the signal's reason.
   */
  broken(signal: AbortSignal): Promise<void>
}
