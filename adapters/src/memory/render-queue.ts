/**
 * The render queue of one process, without durability: the embedded service's `sync` lane, and unit tests. It holds what is
 * waiting or in hand; how much that can be is the business of whoever admits renders.
 */
import { type Bell, bell } from '@platen/contract/bell.ts'
import { DEAD_LETTERS_KEPT_MAX } from '@platen/contract/limit.ts'
import type { RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { LANES, type Lane, type RenderRecord } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import { type Engine } from '@platen/contract/render-options.ts'

/** First in, first out, by id: a Map keeps the order of insertion. */
type Line = Map<RenderId, RenderRecord>

interface Station {
  readonly waiting: Record<Lane, Line>
  readonly inHand: Map<RenderId, { readonly record: RenderRecord; readonly holder: Bell }>
  readonly bells: Set<Bell>
  readonly dead: DeadLetter[]
}

/** A render that brought its renderers down. */
export interface DeadLetter {
  readonly record: RenderRecord
  readonly reason: string
}

export interface MemoryRenderQueue extends RenderQueue {
  /** The last that were buried, oldest first. */
  readonly dead: readonly DeadLetter[]
}

/** An empty queue. */
export function memoryRenderQueue(): MemoryRenderQueue {
  const dead: DeadLetter[] = []
  const stations: Record<Engine, Station> = { react_pdf: station(dead), html: station(dead) }
  return {
    dead,
    async enqueue(record, signal) {
      signal.throwIfAborted()
      const { waiting, bells } = stations[record.engine]
      waiting[record.lane].set(record.id, record)
      for (const bell of bells) bell.ring()
    },
    async consume(engine, signal) {
      signal.throwIfAborted()
      return consumer(stations[engine])
    },
  }
}

function station(dead: DeadLetter[]): Station {
  return { waiting: { sync: new Map(), async: new Map(), bulk: new Map() }, inHand: new Map(), bells: new Set(), dead }
}

function consumer(station: Station): RenderConsumer {
  const { waiting, inHand, bells, dead } = station
  const own = bell()
  let isClosed = false
  bells.add(own)

  return {
    poll(lane) {
      const [record] = waiting[lane].values()
      if (isClosed || record === undefined) return undefined
      waiting[lane].delete(record.id)
      inHand.set(record.id, { record, holder: own })
      const done = async (signal: AbortSignal) => {
        signal.throwIfAborted()
        // From the line as well: a consumer may finish a render after it has closed and given it back.
        inHand.delete(record.id)
        waiting[lane].delete(record.id)
      }
      return {
        record,
        done,
        async bury(reason, signal) {
          await done(signal)
          dead.push({ record, reason })
          if (dead.length > DEAD_LETTERS_KEPT_MAX) dead.shift()
        },
      }
    },
    arrival: (signal) => own.rung(signal),
    async [Symbol.asyncDispose]() {
      isClosed = true
      bells.delete(own)
      for (const lane of LANES) giveBack(station, lane, own)
      for (const bell of bells) bell.ring()
    },
  }
}

/** What a consumer has in hand was taken first, so it goes before what has come since. */
function giveBack({ waiting, inHand }: Station, lane: Lane, holder: Bell): void {
  const since = [...waiting[lane]]
  waiting[lane].clear()
  for (const [id, held] of inHand) {
    if (held.holder !== holder || held.record.lane !== lane) continue
    inHand.delete(id)
    waiting[lane].set(id, held.record)
  }
  for (const [id, record] of since) waiting[lane].set(id, record)
}
