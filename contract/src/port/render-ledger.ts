import type { Instant } from '@platen/lib/brand.ts'
import type { RenderEnd, RenderRecord, RenderView } from '../domain/render.ts'
import type { RenderId } from '../domain/render-id.ts'

/**
 * Who renders what, how often it was tried, and what a GET shows. A view: losing it breaks no promise, because the queue record is the
 * acceptance and the manifest the outcome. States are monotonic; a terminal one never changes. Every method throws `Unavailable` when the
 * ledger cannot be reached.
 */
export interface RenderLedger {
  /** Shows a render as queued, unless it is known already. A `find` that begins after this resolved sees it. */
  markQueued(record: RenderRecord, signal: AbortSignal): Promise<void>
  /**
   * Claims a render for one attempt, unless somebody else holds it or it has ended. If the render is durable, the attempt is counted
   * durably before this resolves, so a render that kills its renderer is counted too. An owner whose own worker crashed may claim a render
   * again that it holds; that is the next attempt.
   */
  claim(record: RenderRecord, lease: Lease, signal: AbortSignal): Promise<ClaimResult>
  /**
   * Renews a claim for `leaseMs` from now. False if it is lost: expired and taken over, or the render has ended. A ledger that has lost all
   * it knew of the render may restore the claim, unless somebody else has claimed the render since.
   */
  renew(claim: Claim, lease: Lease, signal: AbortSignal): Promise<boolean>
  /**
   * Gives back a claim that failed through no fault of the render. Another owner may claim it at once, and the attempt does not count
   * towards `RENDER_ATTEMPTS_MAX`. Does nothing if the claim is lost. Idempotent.
   */
  release(claim: Claim, owner: string, signal: AbortSignal): Promise<void>
  /**
   * Asks whoever holds the render, or claims it later, to end it. Resolves to whether somebody holds it now; false if it has ended. Claims
   * that begin after it resolved are told, and `find` says that only the manifest knows the state. Idempotent. A ledger that loses its data
   * loses this, too.
   */
  cancel(id: RenderId, signal: AbortSignal): Promise<boolean>
  /** May be forgotten once the render has ended. */
  isCanceled(id: RenderId, signal: AbortSignal): Promise<boolean>
  /** The first outcome stays. Ends the claim. Idempotent. */
  complete(end: RenderEnd, signal: AbortSignal): Promise<void>
  /** Undefined if the render is unknown. A ledger that can lose data marks what it is not sure of. */
  find(id: RenderId, signal: AbortSignal): Promise<RenderView | undefined>
}

export interface ErasableRenderLedger extends RenderLedger {
  /** In any state. Resolves when durable. The render may be unknown. */
  forget(id: RenderId, signal: AbortSignal): Promise<void>
}

/** A ledger that may lose what it knows, and is told again. */
export interface RestorableRenderLedger extends RenderLedger {
  /** Completes these renders in few calls. After a failure, some of them may be completed. */
  completeAll(ends: readonly RenderEnd[], signal: AbortSignal): Promise<void>
}

export interface Lease {
  /** Identifies one start of one renderer process. */
  readonly owner: string
  readonly leaseMs: number
}

export interface Claim {
  readonly id: RenderId
  /** Grows with every claim of this render. Of two holders, the one with the higher fence is right. */
  readonly fence: number
  /** From 1. */
  readonly attempt: number
}

export type ClaimResult =
  /** With `isCanceled`, the render must end as canceled without beginning. */
  | { readonly kind: 'granted'; readonly claim: Claim; readonly isCanceled?: true }
  /** Somebody holds it until then, or longer by a renewal. */
  | { readonly kind: 'held'; readonly until: Instant }
  /** Its manifest says how it ended. */
  | { readonly kind: 'settled' }
  /** It was started `RENDER_ATTEMPTS_MAX` times, without released claims, and never ended. */
  | { readonly kind: 'exhausted'; readonly attempts: number }
