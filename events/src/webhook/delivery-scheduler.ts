/** Turns events into deliveries. Each event of a render with a receiver is scheduled once, however often it is read. */
import type { Delivery } from '@platen/contract/domain/delivery.ts'
import { type RenderEvent, webhookBodyOf } from '@platen/contract/domain/event.ts'
import { decodeManifest, expiryOf, manifestAddress, UnreadableManifest } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import type { Log } from '@platen/lib/log.ts'
import { retryWhileUnavailable } from '@platen/lib/retry.ts'
import { WEBHOOK_EVENTS_PER_COMMIT } from './limit.ts'

/**
 * Manifests read at once for events whose request is stored. At 25 ms each that is 640 a second, so that tenants with stored requests do
 * not delay the webhooks of others.
 */
const STORED_REQUESTS_READ_AT_ONCE = 16

/** Concurrent commands that schedule deliveries, so that a slow one does not delay the others. */
const WEBHOOK_SCHEDULED_AT_ONCE = 4

export interface SchedulerOptions {
  readonly events: Pick<EventLog, 'follow'>
  readonly deliveries: Pick<DeliveryLog, 'schedule'>
  readonly artifacts: Pick<ArtifactStore, 'get'>
  readonly serviceBucket: string
  readonly clock: Clock
  readonly log: Log
  readonly retriesMax: number
  /** Called with each event that is read, with or without a receiver. Must not throw. */
  readonly onEvent?: (event: RenderEvent) => void
}

const READER = 'webhooks'

/**
 * Runs until `signal` aborts, and may then reject with its reason. Commits its position in the log only now and then: events that are read
 * again after a crash are already known.
 */
export async function scheduleDeliveries(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const doneRetry = { ...options, dependency: 'event log', operation: 'done', signal }
  let last: ReceivedEvent | undefined
  let scheduling = openScheduling(options, signal)
  let committing = Promise.resolve()
  /** Commits the position when the deliveries of all events before it are scheduled. */
  const commit = async () => {
    const [reached, begun] = [last, scheduling]
    scheduling = openScheduling(options, signal)
    await begun.ended()
    await retryWhileUnavailable(async () => reached?.done(), doneRetry)
  }
  let read = 0
  for await (const received of options.events.follow(READER, signal)) {
    last = received
    options.onEvent?.(received.event)
    const { render } = received.event.manifest
    if (render.webhookUrl !== undefined || render.requestData !== undefined) scheduling.add(received.event)
    read += 1
    if (read % WEBHOOK_EVENTS_PER_COMMIT !== 0) continue
    // Meanwhile the next events are read, so that one slow receiver does not delay them.
    await committing
    committing = commit()
    // The next `await` handles the rejection. Until then it must not end the process.
    committing.catch(() => undefined)
  }
  await committing
  await commit()
}

interface Scheduling {
  add(event: RenderEvent): void
  /** Rejects if a delivery could not be scheduled. */
  ended(): Promise<void>
}

/** Events gather while `WEBHOOK_SCHEDULED_AT_ONCE` commands are running. */
function openScheduling(options: SchedulerOptions, signal: AbortSignal): Scheduling {
  const { deliveries } = options
  const scheduleRetry = { ...options, dependency: 'delivery log', operation: 'schedule', signal }
  const running = new Set<Promise<void>>()
  let runs = 0
  let gathered: RenderEvent[] = []
  let failed: { readonly cause: unknown } | undefined
  const run = async () => {
    runs += 1
    try {
      while (gathered.length > 0) {
        const batch = gathered
        gathered = []
        await retryWhileUnavailable(async () => {
          const due = await deliveriesOf(batch, options, signal)
          if (due.length > 0) await deliveries.schedule(due, signal)
        }, scheduleRetry)
      }
    } catch (cause) {
      failed ??= { cause }
    } finally {
      // In the same turn in which no event was left: whoever adds an event later must start another run.
      runs -= 1
    }
  }
  return {
    add(event) {
      gathered.push(event)
      if (runs >= WEBHOOK_SCHEDULED_AT_ONCE) return
      const one = run()
      running.add(one)
      void one.then(() => running.delete(one))
    },
    async ended() {
      while (running.size > 0) await Promise.all(running)
      if (failed !== undefined) throw failed.cause
    },
  }
}

async function deliveriesOf(
  events: readonly RenderEvent[],
  options: SchedulerOptions,
  signal: AbortSignal,
): Promise<Delivery[]> {
  const complete = [...events]
  const stored = [...events.entries()].filter(([, { manifest }]) => manifest.render.requestData !== undefined)
  await forEachConcurrently(stored, STORED_REQUESTS_READ_AT_ONCE, async ([at, event]) => {
    complete[at] = await completed(event, options, signal)
  })
  return complete.flatMap((event) => deliveryOf(event, options) ?? [])
}

/**
 * The event with the manifest in the artifact store. Unchanged if there is none any more, or only a tombstone: then no receiver is called.
 */
async function completed(
  event: RenderEvent,
  { artifacts, serviceBucket, log }: SchedulerOptions,
  signal: AbortSignal,
): Promise<RenderEvent> {
  const { id } = event.manifest.render
  const bytes = await artifacts.get(manifestAddress(id, serviceBucket), signal)
  try {
    const manifest = bytes && decodeManifest(bytes)
    if (manifest === undefined || !('eventId' in manifest)) return event
    return { ...event, manifest: { ...manifest, kind: 'ended' } }
  } catch (err) {
    // The manifest is damaged. Callers get an error, but no receiver can be called.
    if (!(err instanceof UnreadableManifest)) throw err
    log.error({ render: id, err }, 'webhook not sent, outcome unreadable')
    return event
  }
}

/** Undefined if the render named no receiver or has expired. */
function deliveryOf(
  event: RenderEvent,
  { retriesMax, clock }: Pick<SchedulerOptions, 'retriesMax' | 'clock'>,
): Delivery | undefined {
  const { render, outcome } = event.manifest
  const expiresAt = expiryOf(render, outcome.finishedAt)
  if (render.webhookUrl === undefined || expiresAt <= clock.now()) return undefined
  const { reference, template } = render
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
    listed: { template: template.code, ...(reference !== undefined && { reference }), expiresAt },
    requestId: render.requestId,
    ...(render.trace !== undefined && { trace: render.trace }),
  }
}
