import type { Instant } from '@platen/lib/brand.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { FailureCode } from '../domain/error.ts'
import type { Shown, Status } from '../domain/render.ts'
import type { BatchId, IdScope, RenderId } from '../domain/render-id.ts'
import type { Engine } from '../domain/render-options.ts'
import type { TemplateCode } from '../domain/tenant.ts'

/** The renders of an account and environment, by what callers search them for. */
export interface RenderList {
  /**
   * A page of renders, the newest first. Only those that are kept: none is shown after its retention, and none that was erased or was never
   * accepted. A sync render is listed once it has ended. Throws `RenderListIncomplete`, and `Unavailable` when the list cannot be reached.
   */
  page(query: RenderQuery, signal: AbortSignal): Promise<RenderPage>
  /** How many listed renders of a batch are in each state. Throws as `page` does. */
  count(scope: IdScope, batch: BatchId, signal: AbortSignal): Promise<StatusCounts>
  /** Takes a render out of the list. It may be unknown. */
  remove(scope: IdScope, id: RenderId, signal: AbortSignal): Promise<void>
}

/** A list that is only a view: it can be lost, and is made again from the manifests of the renders that have ended. */
export interface RenderListView extends RenderList {
  /**
   * Shows a render in a state. A later state replaces an earlier one, never the other way round, and the first outcome stays. An open render
   * keeps the labels that it was first put with. Does nothing for a render that was removed within the last hour.
   */
  put(scope: IdScope, render: ListedRender, signal: AbortSignal): Promise<void>
  /**
   * Shows an open render as canceled, with what is known of it. Does nothing for one that is not listed: `put` shows it later, once somebody
   * knows all of it.
   */
  cancel(scope: IdScope, end: CanceledEnd, signal: AbortSignal): Promise<void>
  /** Tells whether nothing is missing of an ended render: it is shown with its outcome, or was removed within the last hour. */
  isSettled(scope: IdScope, id: RenderId, signal: AbortSignal): Promise<boolean>
}

interface CanceledEnd {
  readonly id: RenderId
  readonly finishedAt: Instant
  readonly expiresAt: Instant
}

/** The filters apply together. */
export interface RenderQuery {
  readonly scope: IdScope
  /** The page has at most so many renders. */
  readonly limit: number
  /** Only renders with a lower id than this: where the page before ended. */
  readonly below?: RenderId
  /** Only renders accepted at this time or later. */
  readonly since?: Instant
  /** Only renders accepted before this time. */
  readonly before?: Instant
  readonly status?: Status
  readonly template?: TemplateCode
  readonly engine?: Engine
  readonly reference?: string
  readonly batch?: BatchId
}

type StatusCounts = Readonly<Record<Status, number>>

/** The page may be shorter than the limit also if there are more. */
export interface RenderPage {
  readonly renders: readonly ListedRender[]
  /** The `below` of the next page; absent = this is the last one. */
  readonly next?: RenderId
}

export interface ListedRender extends Shown {
  readonly id: RenderId
  readonly template: TemplateCode
  readonly engine: Engine
  readonly acceptedAt: Instant
  readonly state: ListedState
  /** From this time on it is not listed. */
  readonly expiresAt: Instant
}

/** Without messages, warnings and addresses: a list is read by the hundred, and its size has a bound. */
export type ListedState =
  | { readonly status: 'queued' }
  | { readonly status: 'running' }
  | { readonly status: 'succeeded'; readonly finishedAt: Instant; readonly bytes: number }
  | { readonly status: 'failed'; readonly finishedAt: Instant; readonly code: FailureCode }

/** The list is being made, or made again after a loss, so that renders may be missing. Not an outage: it ends by itself. */
export class RenderListIncomplete extends Unavailable {}
