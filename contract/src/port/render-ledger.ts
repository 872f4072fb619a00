import type { Instant } from '../brand.ts'
import type { Manifest, RenderRecord, RenderView } from '../render.ts'
import type { RenderId } from '../render-id.ts'

/**
 * Who is rendering what, how often it was tried, and what a GET shows. A view: losing it breaks no promise, as acceptance is
 * the queue record and outcome the manifest. States are monotonic; a terminal one never changes.
 * Every method throws `Unavailable` when the ledger cannot be reached.
 */
export interface RenderLedger {
  /** Shows a render as queued. Does nothing where it is known already. A `find` that begins after it resolved sees it. */
  markQueued(record: RenderRecord, signal: AbortSignal): Promise<void>
  /**
   * Takes a render for one attempt, unless somebody else holds it or it is settled. The attempt is counted, durably where the
   * render itself is durable, before this resolves: so a render that kills its renderer is counted too. An owner may claim
   * again what it holds (its own worker crashed); that is the next attempt.
   */
  claim(record: RenderRecord, lease: Lease, signal: AbortSignal): Promise<ClaimResult>
  /**
   * Prolongs a claim by `leaseMs` from now. False when it is lost: lapsed and taken over, or settled. Where the ledger has lost all
   * it knew of the render and nobody else has claimed it since, it may take the claim up again.
   */
  renew(claim: Claim, lease: Lease, signal: AbortSignal): Promise<boolean>
  /**
   * Gives a claim back that came to nothing through no fault of the render: whoever asks next may have it at once, and the attempt
   * does not count towards `RENDER_ATTEMPTS_MAX`. Does nothing where the claim is lost; twice is fine.
   */
  release(claim: Claim, owner: string, signal: AbortSignal): Promise<void>
  /** Records the outcome that stands in the manifest, and ends the claim. The first outcome stays; twice is fine. */
  complete(manifest: Manifest, signal: AbortSignal): Promise<void>
  /** What is known of a render, or undefined when nothing is. A ledger that can lose what it knew says what it cannot be sure of. */
  find(id: RenderId, signal: AbortSignal): Promise<RenderView | undefined>
}

export interface Lease {
  /** Names one renderer process and one start of it. */
  readonly owner: string
  readonly leaseMs: number
}

export interface Claim {
  readonly id: RenderId
  /** Grows with every claim of this render: of two holders the higher fence is right. */
  readonly fence: number
  /** 1 at the first start. */
  readonly attempt: number
}

export type ClaimResult =
  | { readonly kind: 'granted'; readonly claim: Claim }
  /** Somebody holds it until then, unless renewed. */
  | { readonly kind: 'held'; readonly until: Instant }
  /** It has ended; its manifest says how. */
  | { readonly kind: 'settled' }
  /** It was started `RENDER_ATTEMPTS_MAX` times, those not counted that were given back, and never ended. */
  | { readonly kind: 'exhausted'; readonly attempts: number }
