/** Turns events into deliveries. Each event of a render that named a receiver is scheduled once, however often it is read. */
import type { Delivery } from '@platen/contract/delivery.ts'
import { type RenderEvent, webhookBodyOf } from '@platen/contract/event.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { expiryOf } from '@platen/contract/render.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import { WEBHOOK_EVENTS_PER_COMMIT } from './limit.ts'

export interface SchedulerOptions {
  readonly events: Pick<EventLog, 'follow'>
  readonly deliveries: Pick<DeliveryLog, 'schedule'>
  readonly clock: Clock
  readonly log: Log
  /** How many attempts may follow the first, after an async render. */
  readonly retriesMax: number
}

const READER = 'webhooks'

/**
 * Schedules deliveries until `signal` aborts, and may then reject with its reason. Commits its position in the log only now and then:
 * events that are read again after a crash are already known.
 */
export async function scheduleDeliveries(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const { events, deliveries } = options
  const scheduleRetry = { ...options, dependency: 'delivery log', operation: 'schedule', signal }
  const doneRetry = { ...options, dependency: 'event log', operation: 'done', signal }
  let last: ReceivedEvent | undefined
  let read = 0
  /** Deliveries for the next command. They gather while a command is running. */
  let gathered: Delivery[] = []
  let scheduling: Promise<void> | undefined
  const schedule = async () => {
    while (gathered.length > 0) {
      const batch = gathered
      gathered = []
      await retryWhileUnavailable(() => deliveries.schedule(batch, signal), scheduleRetry)
    }
    scheduling = undefined
  }
  const commit = async () => {
    await scheduling
    await retryWhileUnavailable(async () => last?.done(), doneRetry)
  }
  for await (const received of events.follow(READER, signal)) {
    last = received
    const delivery = deliveryOf(received.event, options)
    if (delivery !== undefined) {
      gathered.push(delivery)
      scheduling ??= schedule()
      // `commit` handles the rejection. Until then it must not end the process.
      scheduling.catch(() => undefined)
    }
    read += 1
    if (read % WEBHOOK_EVENTS_PER_COMMIT === 0) await commit()
  }
  await commit()
}

/** Returns the delivery for an event. Returns undefined if the render named no receiver or has expired. */
export function deliveryOf(
  event: RenderEvent,
  { retriesMax, clock }: Pick<SchedulerOptions, 'retriesMax' | 'clock'>,
): Delivery | undefined {
  const { render, outcome } = event.manifest
  if (render.webhookUrl === undefined || expiryOf(render, outcome.finishedAt) <= clock.now()) return undefined
  return {
    id: event.id,
    type: event.type,
    render: render.id,
    tenant: render.tenant,
    account: render.account,
    environment: render.environment,
    url: render.webhookUrl,
    body: webhookBodyOf(event),
    // The caller of a sync render already has the outcome. The webhook is for its records and is tried once.
    retriesMax: render.mode === 'sync' ? 0 : retriesMax,
    createdAt: outcome.finishedAt,
    requestId: render.requestId,
    ...(render.trace !== undefined && { trace: render.trace }),
  }
}
