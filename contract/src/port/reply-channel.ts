import type { Failure } from '../render.ts'
import type { RenderId } from '../render-id.ts'

/** How a sync render came out, brought from the renderer to the API process that holds the connection. */
export type Reply =
  | { readonly kind: 'rendered'; readonly pdf: Uint8Array; readonly durationMs: number }
  | { readonly kind: 'failed'; readonly error: Failure; readonly durationMs: number }

/**
 * The way back of sync renders. Nothing in it is durable, and the render's own manifest tells the outcome as well. Where a reply may
 * have been lost, whoever waits is told so; where nobody knows that it was, the wait runs into its deadline.
 */
export interface ReplyChannel {
  /** API side. Call it before the render is enqueued, so that no reply can come too early. */
  expect(id: RenderId): PendingReply
  /** Renderer side: this render has been claimed and begins. */
  notifyStarted(id: RenderId): void
  /** Renderer side: the answer. Resolves when handed on; an answer nobody waits for is dropped. */
  reply(id: RenderId, reply: Reply, signal: AbortSignal): Promise<void>
  /** Renderer side: aborts when the caller has gone. The listener it holds is freed when `answer` was called or `until` aborts. */
  callerGone(id: RenderId, until: AbortSignal): AbortSignal
}

/** Disposing it before the reply came tells the renderer that the caller has gone, where it can be told. */
export interface PendingReply extends Disposable {
  /** Resolves when a renderer has begun. Rejects with the signal's reason. */
  started(signal: AbortSignal): Promise<void>
  /** Resolves with the reply. Rejects with the signal's reason. */
  reply(signal: AbortSignal): Promise<Reply>
  /**
   * Resolves once something that is said of this render may be missed, as the channel cannot hear, or has lost it: the outcome is to
   * be looked for where it is kept, too. It is not taken back when the channel hears again. Rejects with the signal's reason.
   */
  broken(signal: AbortSignal): Promise<void>
}
