/**
 * Sync renders are in memory until they end, all others on disk from the start. A sync answer must not wait for a disk flush, and when the
 * process dies, the caller of a sync render is gone anyway.
 */

import { isTerminal, type Lane } from '@platen/contract/domain/render.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { raceFirst } from '@platen/lib/race.ts'

interface ByLane<Port> {
  /** Serves the lane `sync`. */
  readonly memory: Port
  /** Serves the lanes `async` and `bulk`. */
  readonly disk: Port
}

export function queueByLane({ memory, disk }: ByLane<RenderQueue>): RenderQueue {
  return {
    enqueue: (record, signal) => (record.lane === 'sync' ? memory : disk).enqueue(record, signal),
    async consume(engine, signal) {
      return consumerByLane({ memory: await memory.consume(engine, signal), disk: await disk.consume(engine, signal) })
    },
  }
}

function consumerByLane({ memory, disk }: ByLane<RenderConsumer>): RenderConsumer {
  return {
    poll: (lane: Lane) => (lane === 'sync' ? memory : disk).poll(lane),
    waitForRecord: (signal) =>
      raceFirst([(either) => memory.waitForRecord(either), (either) => disk.waitForRecord(either)], signal),
    async [Symbol.asyncDispose]() {
      await memory[Symbol.asyncDispose]()
      await disk[Symbol.asyncDispose]()
    },
  }
}

/**
 * Only the disk records how a render ended, for every lane: it is the index of stored renders, and forgets a render when it is removed. A
 * sync render is answered before `complete` is called.
 */
export function ledgerByLane({ memory, disk }: ByLane<RenderLedger>): RenderLedger {
  return {
    markQueued: (record, signal) => (record.lane === 'sync' ? memory : disk).markQueued(record, signal),
    claim: (record, lease, signal) => (record.lane === 'sync' ? memory : disk).claim(record, lease, signal),
    renew: async (claim, lease, signal) =>
      (await memory.renew(claim, lease, signal)) || (await disk.renew(claim, lease, signal)),
    async release(claim, owner, signal) {
      // A ledger without the claim does nothing.
      await memory.release(claim, owner, signal)
      await disk.release(claim, owner, signal)
    },
    async cancel(id, signal) {
      const isHeld = await Promise.all([memory.cancel(id, signal), disk.cancel(id, signal)])
      return isHeld.includes(true)
    },
    isCanceled: async (id, signal) => (await memory.isCanceled(id, signal)) || (await disk.isCanceled(id, signal)),
    async complete(end, signal) {
      await disk.complete(end, signal)
      // Ends the claim, and keeps it ended in case the render is delivered again.
      if ('mode' in end.render && end.render.mode === 'sync') await memory.complete(end, signal)
    },
    async find(id, signal) {
      // Memory is fast, and a render under way is in only one of the two.
      const view = await memory.find(id, signal)
      return view === undefined || isTerminal(view.state.status) ? await disk.find(id, signal) : view
    },
  }
}
