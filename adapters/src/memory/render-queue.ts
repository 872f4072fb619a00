/**
 * The render queue of one process, without durability: for the `sync` lane of the embedded service, and for unit tests. Admission limits
 * how many renders wait or are in hand.
 */

import { LANES, type Lane, type RenderRecord } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'

/** Dead letters that memory holds for people to inspect. The oldest goes first. */
const DEAD_LETTERS_KEPT_MAX = 100

/** First in, first out: a Map keeps the order of insertion. */
type LaneQueue = Map<RenderId, RenderRecord>

interface EngineQueue {
  readonly waiting: Record<Lane, LaneQueue>
  readonly inHand: Map<RenderId, { readonly record: RenderRecord; readonly holder: Notifier }>
  readonly notifiers: Set<Notifier>
  readonly dead: DeadLetter[]
}

interface DeadLetter {
  readonly record: RenderRecord
  readonly reason: string
}

interface MemoryRenderQueue extends RenderQueue {
  /** The newest dead letters, oldest first. */
  readonly dead: readonly DeadLetter[]
}

export function memoryRenderQueue(): MemoryRenderQueue {
  const dead: DeadLetter[] = []
  const engines: Record<Engine, EngineQueue> = { react_pdf: engineQueue(dead), html: engineQueue(dead) }
  return {
    dead,
    async enqueue(record, signal) {
      signal.throwIfAborted()
      const { waiting, notifiers } = engines[record.engine]
      waiting[record.lane].set(record.id, record)
      for (const notifier of notifiers) notifier.notify()
    },
    async consume(engine, signal) {
      signal.throwIfAborted()
      return consumer(engines[engine])
    },
  }
}

function engineQueue(dead: DeadLetter[]): EngineQueue {
  return {
    waiting: { sync: new Map(), async: new Map(), bulk: new Map() },
    inHand: new Map(),
    notifiers: new Set(),
    dead,
  }
}

function consumer(queue: EngineQueue): RenderConsumer {
  const { waiting, inHand, notifiers, dead } = queue
  const arrival = openNotifier()
  let isClosed = false
  notifiers.add(arrival)

  return {
    poll(lane) {
      const [record] = waiting[lane].values()
      if (isClosed || record === undefined) return undefined
      waiting[lane].delete(record.id)
      inHand.set(record.id, { record, holder: arrival })
      const done = async (signal: AbortSignal) => {
        signal.throwIfAborted()
        // Also from the waiting records: a consumer may finish a render after it was closed and the render requeued.
        inHand.delete(record.id)
        waiting[lane].delete(record.id)
      }
      return {
        record,
        done,
        async deadLetter(reason, signal) {
          await done(signal)
          dead.push({ record, reason })
          if (dead.length > DEAD_LETTERS_KEPT_MAX) dead.shift()
        },
      }
    },
    waitForRecord: (signal) => arrival.wait(signal),
    async [Symbol.asyncDispose]() {
      isClosed = true
      notifiers.delete(arrival)
      for (const lane of LANES) requeue(queue, lane, arrival)
      for (const notifier of notifiers) notifier.notify()
    },
  }
}

/** Puts the records in hand before all others of the lane, since they were taken first. */
function requeue({ waiting, inHand }: EngineQueue, lane: Lane, holder: Notifier): void {
  const since = [...waiting[lane]]
  waiting[lane].clear()
  for (const [id, held] of inHand) {
    if (held.holder !== holder || held.record.lane !== lane) continue
    inHand.delete(id)
    waiting[lane].set(id, held.record)
  }
  for (const [id, record] of since) waiting[lane].set(id, record)
}
