import type { Instant } from '@platen/lib/brand.ts'
import type { Attempt, DeliveryStatus } from '../domain/delivery.ts'
import type { EventType } from '../domain/event.ts'
import type { IdScope, RenderId } from '../domain/render-id.ts'
import type { TemplateCode } from '../domain/tenant.ts'
import type { RenderQuery } from './render-list.ts'

/** The webhook deliveries of an account and environment, by what callers search them for. A render has one, once it has ended. */
export interface DeliveryList {
  /**
   * A page of deliveries, in the order in which their renders were accepted, the newest first. None is shown after the retention of its
   * render, and no test event. Throws `RenderListIncomplete`, and `Unavailable` when the list cannot be reached.
   */
  page(query: DeliveryQuery, signal: AbortSignal): Promise<DeliveryPage>
}

/** A list that is only a view: it can be lost, and is made again from the event log and the delivery log. */
export interface DeliveryListView extends DeliveryList {
  /** Shows a delivery as it is now, in place of what was shown. Does nothing if its render was removed here within the last hour. */
  put(scope: IdScope, delivery: ListedDelivery, signal: AbortSignal): Promise<void>
  /** The same for a delivery of a render that shows none; otherwise does nothing. */
  add(scope: IdScope, delivery: ListedDelivery, signal: AbortSignal): Promise<void>
  /** Tells whether a delivery of the render is shown, or was removed within the last hour. */
  isSettled(scope: IdScope, render: RenderId, signal: AbortSignal): Promise<boolean>
  /** Takes the delivery of a render out of the list. There may be none. */
  remove(scope: IdScope, render: RenderId, signal: AbortSignal): Promise<void>
}

/** The filters apply together. Times are those at which the renders were accepted. */
export interface DeliveryQuery extends Omit<RenderQuery, 'status' | 'engine'> {
  readonly status?: DeliveryStatus
}

/** The page may be shorter than the limit also if there are more. */
interface DeliveryPage {
  readonly deliveries: readonly ListedDelivery[]
  /** The `below` of the next page; absent = this is the last one. */
  readonly next?: RenderId
}

/** Without URLs, messages and answers: a list is read by the hundred, and Redis must not have them. */
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
  /** From this time on it is not listed. */
  readonly expiresAt: Instant
}
