import type { Instant } from '@platen/lib/brand.ts'
import type { RenderEnd, RenderRecord, RenderView } from '../domain/render.ts'
import type { RenderId } from '../domain/render-id.ts'

/**
 * Who renders what, how often it was tried, and what a GET shows. A view: losing it breaks no promise, because acceptance is the queue
 * record and outcome the manifest. States are monotonic; a terminal one never changes. Every method throws `Unavailable` when the ledger
 * cannot be reached.
 */
export interface RenderLedger {
  /** Shows a render as queued. Does nothing if it is known already. A `find` that begins after it resolved sees it. */
  markQueued(record: RenderRecord, signal: AbortSignal): Promise<void>
  /**
   * Claims a render for one attempt, unless somebody else holds it or it has ended. If the render is durable, the attempt is counted
   * durably before this resolves. So a render that kills its renderer is counted too. An owner may claim again a render that it holds (its
   * own worker crashed); that is the next attempt.
   */
  claim(record: RenderRecord, lease: Lease, signal: AbortSignal): Promise<ClaimResult>
  /**
   * Renews a claim for `leaseMs` from now. False if it is lost: expired and taken over, or the render has ended. If the ledger has lost all
   * it knew of the render and nobody else has claimed it since, it may restore the claim.
   */
  renew(claim: Claim, lease: Lease, signal: AbortSignal): Promise<boolean>
  /**
   * Gives back a claim that failed through no fault of the render. Another owner may claim the render at once, and the attempt does not
   * count towards `RENDER_ATTEMPTS_MAX`. Does nothing if the claim is lost. Idempotent.
   */
  release(claim: Claim, owner: string, signal: AbortSignal): Promise<void>
  /**
   * Asks whoever holds the render, or claims it later, to end it. Resolves to whether somebody holds it now. False if it has ended. A claim
   * that begins after it resolved is told, and a `find` says that only the manifest knows the state. Idempotent. A ledger that loses its
   * data loses this, too.
   */
  cancel(id: RenderId, signal: AbortSignal): Promise<boolean>
  /** Whether `cancel` was called for this render. May be forgotten once it has ended. */
  isCanceled(id: RenderId, signal: AbortSignal): Promise<boolean>
  /** Records the outcome and ends the claim. The first outcome stays. Idempotent. */
  complete(end: RenderEnd, signal: AbortSignal): Promise<void>
  /** What is known of a render, or undefined if nothing is. A ledger that can lose data marks what it is not sure of. */
  find(id: RenderId, signal: AbortSignal): Promise<RenderView | undefined>
}

/** A ledger from which a render can be removed. */
export interface ErasableRenderLedger extends RenderLedger {
  /** Forgets a render in any state. Resolves when durable. The render may be unknown. */
  forget(id: RenderId, signal: AbortSignal): Promise<void>
}

/** A ledger that may lose what it knows, and is told again. */
export interface RestorableRenderLedger extends RenderLedger {
  /** Completes each of these renders, in few calls. After a failure, some of them may be completed. */
  completeAll(ends: readonly RenderEnd[], signal: AbortSignal): Promise<void>
}

export interface Lease {
  /** Identifies one renderer process and one start of it. */
  readonly owner: string
  readonly leaseMs: number
}

export interface Claim {
  readonly id: RenderId
  /** Grows with every claim of this render. Of two holders, the one with the higher fence is right. */
  readonly fence: number
  /** 1 for the first start. */
  readonly attempt: number
}

export type ClaimResult =
  /** `isCanceled`: the render must not begin, but end as canceled. */
  | { readonly kind: 'granted'; readonly claim: Claim; readonly isCanceled?: true }
  /** Somebody holds it until then, unless the claim is renewed. */
  | { readonly kind: 'held'; readonly until: Instant }
  /** It has ended. Its manifest says how. */
  | { readonly kind: 'settled' }
  /** It was started `RENDER_ATTEMPTS_MAX` times, released claims not counted, and never ended. */
  | { readonly kind: 'exhausted'; readonly attempts: number }
