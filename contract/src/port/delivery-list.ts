import type { Instant } from '@platen/lib/brand.ts'
import type { Attempt, DeliveryStatus } from '../domain/delivery.ts'
import type { EventType } from '../domain/event.ts'
import type { IdScope, RenderId } from '../domain/render-id.ts'
import type { TemplateCode } from '../domain/tenant.ts'
import type { RenderQuery } from './render-list.ts'

/** The webhook deliveries of an account and environment, for searches. An ended render has at most one. */
export interface DeliveryList {
  /**
   * In the order in which renders were accepted, newest first. Shows no test event, and nothing after the retention of its render. Throws
   * `RenderListIncomplete`, and `Unavailable` when the list cannot be reached.
   */
  page(query: DeliveryQuery, signal: AbortSignal): Promise<DeliveryPage>
}

/** A view: it can be lost, and is rebuilt from the event log and the delivery log. */
export interface DeliveryListView extends DeliveryList {
  /** Shows a delivery as it is now. Does nothing if its render was removed here within the last hour. */
  put(scope: IdScope, delivery: ListedDelivery, signal: AbortSignal): Promise<void>
  /** Like `put`, but does nothing if the render shows a delivery already. */
  add(scope: IdScope, delivery: ListedDelivery, signal: AbortSignal): Promise<void>
  /** Whether a delivery of the render is shown, or was removed within the last hour. */
  isSettled(scope: IdScope, render: RenderId, signal: AbortSignal): Promise<boolean>
  /** There may be no delivery. */
  remove(scope: IdScope, render: RenderId, signal: AbortSignal): Promise<void>
}

/** The filters apply together. Times are those of acceptance of the renders. */
export interface DeliveryQuery extends Omit<RenderQuery, 'status' | 'engine'> {
  readonly status?: DeliveryStatus
}

/** May be shorter than the limit even if there is a next page. */
interface DeliveryPage {
  readonly deliveries: readonly ListedDelivery[]
  /** `below` for the next page; absent = this is the last one. */
  readonly next?: RenderId
}

/** Has no URLs, messages or answers: a list is read by the hundred, and Redis must not have them. */
export interface ListedDelivery {
  readonly id: string
  readonly event: EventType
  readonly render: RenderId
  readonly template: TemplateCode
  readonly reference?: string
  readonly status: DeliveryStatus
  readonly createdAt: Instant
  /** Absent before the first attempt. */
  readonly lastAttempt?: Pick<Attempt, 'startedAt' | 'durationMs' | 'result' | 'statusCode'>
  /** Not listed from this time on. */
  readonly expiresAt: Instant
}
