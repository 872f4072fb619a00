/** Events in, deliveries out: each event of a render that named a receiver is scheduled, once, however often it is read. */
import type { Delivery } from '@platen/contract/delivery.ts'
import { type RenderEvent, webhookBodyOf } from '@platen/contract/event.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { expiryOf } from '@platen/contract/render.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import { WEBHOOK_EVENTS_PER_COMMIT } from '@platen/contract/webhook-limit.ts'

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
 * Schedules what the events ask for until `signal` aborts, with whose reason it may then reject. Where it is in the log is written down only now and then: what is read again
 * after a crash is known already.
 */
export async function scheduleDeliveries(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const { events, deliveries } = options
  const retry = { ...options, signal }
  let last: ReceivedEvent | undefined
  let read = 0
  /** Those to be scheduled with the next command: while one is under way, the others gather. */
  let gathered: Delivery[] = []
  let scheduling: Promise<void> | undefined
  const schedule = async () => {
    while (gathered.length > 0) {
      const batch = gathered
      gathered = []
      await retryWhileUnavailable(() => deliveries.schedule(batch, signal), retry)
    }
    scheduling = undefined
  }
  const commit = async () => {
    await scheduling
    await retryWhileUnavailable(async () => last?.done(), retry)
  }
  for await (const given of events.follow(READER, signal)) {
    last = given
    const delivery = deliveryOf(given.event, options)
    if (delivery !== undefined) {
      gathered.push(delivery)
      scheduling ??= schedule()
      // It is looked at in `commit`; alone it must not end the process.
      scheduling.catch(() => undefined)
    }
    read += 1
    if (read % WEBHOOK_EVENTS_PER_COMMIT === 0) await commit()
  }
  await commit()
}

/** What an event asks to be sent; undefined where its render named no receiver, or is kept no longer. */
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
    // The caller of a sync render has the outcome: it is told once, for its records.
    retriesMax: render.mode === 'sync' ? 0 : retriesMax,
    createdAt: outcome.finishedAt,
  }
}
