/** The worker of one engine: takes queued renders from its lanes and processes as many at once as the engine has slots. */

import { LANES, type Lane } from '@platen/contract/domain/render.ts'
import type { QueuedRender, RenderConsumer } from '@platen/contract/port/render-queue.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'
import { throwUnlessAborted } from '@platen/lib/race.ts'
import type { RenderEngine } from './port/engine.ts'
import { SYNC_PAUSE_MS_MAX } from './worker/limit.ts'
import { renderObserver } from './worker/observer.ts'
import { retryingPorts, type Worker, type WorkerPorts, type WorkerSettings } from './worker/port.ts'
import { processRender } from './worker/process-render.ts'
import {
  type LaneTurn,
  laneOrder,
  type SlotCapacity,
  type SlotLoad,
  SYNC_ONLY,
  saturationOf,
  startableLanes,
  syncSlotsOf,
  turnAfter,
} from './worker/slots.ts'
import { openSyncQueue, type SyncQueue } from './worker/sync-queue.ts'
import { openDeferredRenders } from './worker/without-slot/deferred-renders.ts'
import { openStoringRenders, type StoringRenders } from './worker/without-slot/storing-renders.ts'

export type { WorkerPorts, WorkerSettings } from './worker/port.ts'

interface WorkerOptions {
  readonly settings: WorkerSettings
  /** Aborts when no more renders must begin. */
  readonly signal: AbortSignal
  /** Aborts when running renders must be left to others. */
  readonly forceStop: AbortSignal
}

/**
 * Serves one engine's queue until `signal` aborts. Some slots are reserved for sync renders. Resolves when the running renders have ended
 * and are acknowledged, or have been left to others.
 */
export async function runWorker(ports: WorkerPorts, engine: RenderEngine, options: WorkerOptions): Promise<void> {
  const { settings, forceStop } = options
  const drain = AbortSignal.any([options.signal, forceStop])
  await using consumer = await ports.queue.consume(engine.name, drain)
  using _leaves = onAbort(drain, () => void closeConsumer(consumer, ports))
  const startable = openNotifier()
  const deferred = openDeferredRenders({ clock: ports.clock, onDue: () => startable.notify(), signal: drain })
  const retrying = retryingPorts(ports, settings, { drain, forceStop })
  const observer = renderObserver(ports)
  const worker: Worker = { ...ports, ...retrying, observer, engine, settings, deferred, drain, forceStop }
  const poll = (lane: Lane) => deferred.poll(lane) ?? retrying.retryingRender(consumer.poll(lane))
  const syncSlots = syncSlotsOf(engine.slots, settings.lanes ?? LANES)
  const sources: RenderSources = {
    poll,
    syncQueue: openSyncQueue(() => poll('sync')),
    load: { sync: 0, recentSync: 0, others: 0, recentOthers: 0 },
    syncSlots,
    idleSyncSlots: syncSlots,
    startable,
    storing: openStoringRenders({ clock: ports.clock, slots: engine.slots }),
  }
  const { load, storing } = sources
  ports.meter.serving(engine.name, {
    slots: engine.slots,
    lanes: settings.lanes ?? LANES,
    saturation: (lane) => saturationOf(lane, { load, slots: engine.slots, syncSlots }),
    storing: () => storing.count(),
  })
  const slots = Array.from({ length: engine.slots }, (_, slot) => serveSlot(worker, sources, slot < syncSlots))
  await Promise.all([...slots, announceRecords(consumer, startable, drain)])
  await storing.ended()
}

interface RenderSources {
  /** The next render of a lane: a deferred one that is due, or one from the consumer. */
  readonly poll: (lane: Lane) => QueuedRender | undefined
  readonly syncQueue: SyncQueue
  readonly syncSlots: number
  idleSyncSlots: number
  readonly load: SlotLoad
  /** Notified when a slot may find a render to begin: one has arrived, a slot became free, or a deferred render is due. */
  readonly startable: Notifier
  readonly storing: StoringRenders
}

/** Closes the consumer at once, so that waiting renders go to other workers. Running renders end without the queue. */
async function closeConsumer(consumer: RenderConsumer, { log }: WorkerPorts): Promise<void> {
  try {
    await consumer[Symbol.asyncDispose]()
  } catch (err) {
    log.warn({ err }, 'queue consumer close failed')
  }
}

/** Wakes the slots for each record. One wait serves all slots, because each render wakes them several times. */
async function announceRecords(consumer: RenderConsumer, startable: Notifier, drain: AbortSignal): Promise<void> {
  while (!drain.aborted) {
    await consumer.waitForRecord(drain).catch(throwUnlessAborted(drain))
    startable.notify()
  }
}

function onAbort(signal: AbortSignal, act: () => void): Disposable {
  signal.addEventListener('abort', act, { once: true })
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', act) }
}

async function serveSlot(worker: Worker, sources: RenderSources, isForSync: boolean): Promise<void> {
  let turn: LaneTurn = 0
  const { engine, drain, observer } = worker
  const { syncQueue, load, startable } = sources
  while (!drain.aborted) {
    const lanes = isForSync ? SYNC_ONLY : startableLanes(laneOrder(turn), capacityOf(worker, sources))
    const isLastSlot = load.sync + load.others === engine.slots - 1
    const queued = nextRender(sources, lanes, isLastSlot)
    if (queued === undefined) {
      await startable.wait(drain).catch(throwUnlessAborted(drain))
      continue
    }
    const { lane } = queued.record
    turn = turnAfter(turn, lane)
    const kind = lane === 'sync' ? 'sync' : 'others'
    using _busy = observer.busy(engine.name)
    load[kind] += 1
    if (lane === 'sync') load.recentSync += 1
    if (isForSync) {
      sources.idleSyncSlots -= 1
      // Another slot may now begin a sync render that was left to this one.
      startable.notify()
    }
    await untilSlotIsFree(worker, queued, sources.storing)
    load[kind] -= 1
    if (isForSync) sources.idleSyncSlots += 1
    if (lane === 'sync') {
      syncQueue.markEnded(queued)
      void forget('recentSync', worker, sources)
    } else if (load.recentSync > 0) {
      load.recentOthers += 1
      void forget('recentOthers', worker, sources)
    }
    startable.notify()
  }
}

function capacityOf(
  { engine, settings: { lanes: served = LANES } }: Worker,
  { load, syncSlots, idleSyncSlots }: RenderSources,
): SlotCapacity {
  return { served, load, slots: engine.slots - syncSlots, isSyncSlotIdle: idleSyncSlots > 0 }
}

/** Counts an ended render as recent for a moment more. Never rejects. */
async function forget(
  recent: 'recentSync' | 'recentOthers',
  { clock, drain }: Worker,
  { load, startable }: RenderSources,
): Promise<void> {
  await clock.sleep(SYNC_PAUSE_MS_MAX, drain).catch(() => undefined)
  load[recent] -= 1
  startable.notify()
}

/** Resolves when the slot is free for the next render. */
async function untilSlotIsFree(worker: Worker, queued: QueuedRender, storing: StoringRenders): Promise<void> {
  const rendered = Promise.withResolvers<number>()
  const ended = processRender(worker, queued, rendered.resolve)
  const bytes = await Promise.race([rendered.promise, ended])
  if (bytes !== undefined) await storing.add({ bytes, isSync: queued.record.lane === 'sync' }, ended)
}

function nextRender(
  { poll, syncQueue }: RenderSources,
  lanes: readonly Lane[],
  isLastSlot: boolean,
): QueuedRender | undefined {
  for (const lane of lanes) {
    const queued = lane === 'sync' ? syncQueue.take(isLastSlot) : poll(lane)
    if (queued !== undefined) return queued
  }
  return undefined
}
