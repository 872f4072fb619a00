import type { Instant } from '@platen/lib/brand.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { FailureCode } from '../domain/error.ts'
import type { Shown, Status } from '../domain/render.ts'
import type { BatchId, IdScope, RenderId } from '../domain/render-id.ts'
import type { Engine } from '../domain/render-options.ts'
import type { TemplateCode } from '../domain/tenant.ts'

/** The renders of an account and environment, for searches. */
export interface RenderList {
  /**
   * Newest first. Shows only renders that are kept: none after its retention, none that was erased or never accepted. A sync render is
   * listed once it has ended. Throws `RenderListIncomplete`, and `Unavailable` when the list cannot be reached.
   */
  page(query: RenderQuery, signal: AbortSignal): Promise<RenderPage>
  /** Counts the listed renders of a batch. Throws as `page` does. */
  count(scope: IdScope, batch: BatchId, signal: AbortSignal): Promise<StatusCounts>
  /** The render may be unknown. */
  remove(scope: IdScope, id: RenderId, signal: AbortSignal): Promise<void>
}

/** A view: it can be lost, and is rebuilt from the manifests of ended renders. */
export interface RenderListView extends RenderList {
  /**
   * Shows a render in a state. A later state replaces an earlier one, never the reverse, and the first outcome stays. An open render keeps
   * its first labels. Does nothing for a render that was removed within the last hour.
   */
  put(scope: IdScope, render: ListedRender, signal: AbortSignal): Promise<void>
  /** Shows an open render as canceled. Does nothing for one that is not listed: `put` shows it later, once somebody knows all of it. */
  cancel(scope: IdScope, end: CanceledEnd, signal: AbortSignal): Promise<void>
  /** Whether the render is shown with its outcome, or was removed within the last hour. */
  isSettled(scope: IdScope, id: RenderId, signal: AbortSignal): Promise<boolean>
}

interface CanceledEnd {
  readonly id: RenderId
  readonly finishedAt: Instant
  readonly expiresAt: Instant
}

export interface RenderQuery {
  readonly scope: IdScope
  readonly limit: number
  /** Only renders with a lower id: where the page before ended. */
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

/** May be shorter than the limit even if there is a next page. */
export interface RenderPage {
  readonly renders: readonly ListedRender[]
  /** `below` for the next page; absent = this is the last one. */
  readonly next?: RenderId
}

export interface ListedRender extends Shown {
  readonly id: RenderId
  readonly template: TemplateCode
  readonly engine: Engine
  readonly acceptedAt: Instant
  readonly state: ListedState
  /** Not listed from this time on. */
  readonly expiresAt: Instant
}

/** Has no messages, warnings or addresses: a list is read by the hundred, and its size has a bound. */
export type ListedState =
  | { readonly status: 'queued' }
  | { readonly status: 'running' }
  | { readonly status: 'succeeded'; readonly finishedAt: Instant; readonly bytes: number }
  | { readonly status: 'failed'; readonly finishedAt: Instant; readonly code: FailureCode }

/** The list is being built, or rebuilt after a loss, so renders may be missing. Not an outage: it ends by itself. */
export class RenderListIncomplete extends Unavailable {}
