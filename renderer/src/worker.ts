/**
 * The second half of the data flow, for one engine: takes a render from the queue, makes and stores its PDF, writes the manifest, publishes
 * the event and acknowledges the record.
 *
 * Delivery is at least once, and every step may run twice:
 * - The PDF's key is the hash of its content.
 * - The manifest is created only if there is none.
 * - The event's id follows from the manifest.
 * - The ledger keeps the first outcome.
 * - The limiter charges an id once.
 * So if a process dies between two steps, the next one finishes the render, once. A claim counts the attempt before the work begins. So a
 * render that kills its renderer ends as `render_crashed` and is not tried for ever.
 */
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { QueuedRender, RenderConsumer } from '@platen/contract/port/render-queue.ts'
import type { DeadLetterReason } from '@platen/contract/port/renderer-meter.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceFirst } from '@platen/contract/race.ts'
import {
  LANES,
  type Lane,
  type Manifest,
  manifestOf,
  type RenderRecord,
  UnreadableManifest,
} from '@platen/contract/render.ts'
import type { RenderEngine } from './port/engine.ts'
import { DEFECT } from './worker/classify-error.ts'
import { type DeferredRenders, openDeferredRenders } from './worker/deferred-renders.ts'
import { type Worker, type WorkerPorts, type WorkerSettings, withRetry } from './worker/port.ts'
import { processRender } from './worker/process-render.ts'
import { replyToCaller } from './worker/record-outcome.ts'
import {
  type LaneTurn,
  laneOrder,
  type SlotLoad,
  startableLanes,
  syncOnly,
  syncSlotsOf,
  turnAfter,
} from './worker/slots.ts'
import { openSyncQueue, type SyncQueue } from './worker/sync-queue.ts'
import { openWorkSource } from './worker/work-source.ts'

export type { WorkerPorts, WorkerSettings } from './worker/port.ts'

export interface WorkerOptions {
  readonly settings: WorkerSettings
  /** Aborts when no more renders must begin. */
  readonly signal: AbortSignal
  /** Aborts when running renders must be left to others. Absent means never. */
  readonly forceStop?: AbortSignal
}

const NEVER = new AbortController().signal

/**
 * Serves one engine's queue until `signal` aborts. Uses as many slots as the engine has; some are reserved for sync renders. Resolves when
 * the running renders have ended and are acknowledged, or have been left to others.
 */
export async function runWorker(ports: WorkerPorts, engine: RenderEngine, options: WorkerOptions): Promise<void> {
  const { settings, forceStop = NEVER } = options
  const drain = AbortSignal.any([options.signal, forceStop])
  await using consumer = await ports.queue.consume(engine.name, drain)
  using _leaves = onAbort(drain, () => void closeConsumer(consumer, ports))
  const source = openWorkSource(ports.artifacts, settings.serviceBucket)
  const syncSlots = syncSlotsOf(engine.slots, settings.lanes ?? LANES)
  const worker: Worker = { ...ports, engine, settings, source, drain, forceStop }
  const capacityFreed = openNotifier()
  const deferred = openDeferredRenders({ clock: ports.clock, onDue: () => capacityFreed.notify(), signal: drain })
  const syncQueue = openSyncQueue(() => deferred.poll('sync') ?? consumer.poll('sync'))
  const sources: RenderSources = {
    consumer,
    deferred,
    syncQueue,
    load: { sync: 0, others: 0 },
    syncSlots,
    capacityFreed,
  }
  ports.meter.serving(engine.name, engine.slots)
  const orderOf = (slot: number) => (slot < syncSlots ? syncOnly : laneOrder)
  await Promise.all(Array.from({ length: engine.slots }, (_, slot) => serveSlot(worker, sources, orderOf(slot))))
}

/** Where the slots of a worker get their renders. */
interface RenderSources {
  readonly consumer: RenderConsumer
  readonly deferred: DeferredRenders
  readonly syncQueue: SyncQueue
  readonly syncSlots: number
  readonly load: SlotLoad
  /** Notified when a slot becomes free or a deferred render is due. */
  readonly capacityFreed: Notifier
}

/** Closes the consumer at once, so that waiting renders go to other workers. Running renders end without the queue. */
async function closeConsumer(consumer: RenderConsumer, { log }: WorkerPorts): Promise<void> {
  try {
    await consumer[Symbol.asyncDispose]()
  } catch (err) {
    log.warn({ err }, 'queue consumer close failed')
  }
}

function onAbort(signal: AbortSignal, act: () => void): Disposable {
  signal.addEventListener('abort', act, { once: true })
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', act) }
}

async function serveSlot(worker: Worker, sources: RenderSources, order: typeof laneOrder): Promise<void> {
  let turn: LaneTurn = 0
  const { engine, drain, meter, settings } = worker
  const { consumer, syncQueue, load, syncSlots, capacityFreed } = sources
  const { lanes: served = LANES } = settings
  while (!drain.aborted) {
    const lanes = startableLanes(order(turn), { served, load, slots: engine.slots - syncSlots })
    const isLastSlot = load.sync + load.others === engine.slots - 1
    const delivery = nextDelivery(sources, lanes, isLastSlot)
    if (delivery === undefined) {
      const waits = [
        (signal: AbortSignal) => consumer.waitForRecord(signal),
        (signal: AbortSignal) => capacityFreed.wait(signal),
      ]
      await raceFirst(waits, drain).catch(rethrowUnless(drain))
      continue
    }
    const { lane } = delivery.record
    turn = turnAfter(turn, lane)
    const kind = lane === 'sync' ? 'sync' : 'others'
    using _busy = meter.busy(engine.name)
    load[kind] += 1
    await processDelivery(worker, sources, delivery)
    load[kind] -= 1
    if (lane === 'sync') syncQueue.markEnded(delivery)
    capacityFreed.notify()
  }
}

function nextDelivery(
  { deferred, consumer, syncQueue }: RenderSources,
  lanes: readonly Lane[],
  isLastSlot: boolean,
): QueuedRender | undefined {
  for (const lane of lanes) {
    const delivery = lane === 'sync' ? syncQueue.take(isLastSlot) : (deferred.poll(lane) ?? consumer.poll(lane))
    if (delivery !== undefined) return delivery
  }
  return undefined
}

/** Processes one delivery. If that fails, the delivery stays in the queue and is delivered again, to others or after a restart. */
async function processDelivery(worker: Worker, sources: RenderSources, delivery: QueuedRender): Promise<void> {
  const { drain, forceStop, log } = worker
  const { id: render, tenant } = delivery.record
  await completeDelivery(worker, sources, delivery)
    .catch((error: unknown) => buryUnreadable(worker, delivery, error))
    .catch((err: unknown) => {
      const isLeft = [drain, forceStop].some(({ aborted, reason }) => aborted && err === reason)
      if (isLeft) log.info({ render, tenant }, 'render handed over')
      else log.error({ render, tenant, err }, 'render not completed')
    })
}

async function completeDelivery(worker: Worker, { deferred }: RenderSources, delivery: QueuedRender): Promise<void> {
  const { record } = delivery
  const manifest = await processRender(worker, record)
  if ('until' in manifest) return await deferred.add(delivery, manifest.until)
  if (isPoison(manifest)) await bury(worker, delivery, { reason: 'render_crashed', counted: 'crashed' })
  else await withRetry(worker, (signal) => delivery.done(signal))
  logOutcome(worker, manifest)
  await removeInput(worker, record)
}

/** Deletes the data that only this render needed. If the store is unavailable, retention deletes it later together with the render. */
async function removeInput({ source, log, forceStop }: Worker, record: RenderRecord): Promise<void> {
  try {
    await source.removeInput(record, forceStop)
  } catch (err) {
    if (!(err instanceof Unavailable)) throw err
    log.warn({ render: record.id, tenant: record.tenant, err }, 'input not removed')
  }
}

async function bury(
  worker: Worker,
  delivery: QueuedRender,
  { reason, counted }: { readonly reason: string; readonly counted: DeadLetterReason },
): Promise<void> {
  await withRetry(worker, (signal) => delivery.deadLetter(reason, signal))
  worker.meter.deadLettered(counted)
}

/**
 * Handles a render that has ended and whose manifest cannot be read. It must not block other renders, so it becomes a dead letter. The
 * caller sees a defect, unless an outcome was shown before. Nothing is charged beyond what was charged already. Stored objects stay.
 */
async function buryUnreadable(worker: Worker, delivery: QueuedRender, error: unknown): Promise<void> {
  if (!(error instanceof UnreadableManifest)) throw error
  const { record } = delivery
  const { log, ledger, limiter, clock } = worker
  log.error({ render: record.id, tenant: record.tenant, err: error }, 'render dead-lettered')
  if (record.mode === 'sync') await replyToCaller(worker, record, { kind: 'failed', error: DEFECT, durationMs: 0 })
  const outcome = { status: 'failed', finishedAt: clock.now(), durationMs: 0, error: DEFECT } as const
  const shown = manifestOf(record, 1, outcome)
  await withRetry(worker, (signal) => Promise.all([limiter.complete(shown, signal), ledger.complete(shown, signal)]))
  await bury(worker, delivery, { reason: error.message, counted: 'unreadable' })
}

/** Whether the render crashed its renderer in every allowed attempt. Then an engineer will want to see it. */
function isPoison({ outcome }: Manifest): boolean {
  return outcome.status === 'failed' && outcome.error.code === 'render_crashed'
}

function rethrowUnless(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

function logOutcome({ log }: Worker, { render, attempt, outcome }: Manifest): void {
  const fields = {
    render: render.id,
    tenant: render.tenant,
    engine: render.engine,
    template: render.template.code,
    attempt,
  }
  const { durationMs } = outcome
  if (outcome.status === 'succeeded') log.info({ ...fields, durationMs, bytes: outcome.pdf.bytes }, 'render succeeded')
  else log.info({ ...fields, durationMs, code: outcome.error.code }, 'render failed')
}
