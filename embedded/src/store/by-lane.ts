/**
 * Sync renders live in memory until they have ended, all others on disk from the start: no disk flush may stand before a sync
 * answer, and a sync render that dies with its process has no caller left.
 */

import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { raceFirst } from '@platen/contract/race.ts'
import { isTerminal, type Lane } from '@platen/contract/render.ts'

interface ByLane<Port> {
  /** Serves the `sync` lane. */
  readonly memory: Port
  /** Serves the lanes `async` and `bulk`. */
  readonly disk: Port
}

/** One queue out of two. */
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
 * One ledger out of two. How a render ended is told by the disk alone, whatever its lane, as the ledger there is the index of what
 * is kept: it forgets a render when that is removed. A sync render has been answered by the time it is settled.
 */
export function ledgerByLane({ memory, disk }: ByLane<RenderLedger>): RenderLedger {
  return {
    markQueued: (record, signal) => (record.lane === 'sync' ? memory : disk).markQueued(record, signal),
    claim: (record, lease, signal) => (record.lane === 'sync' ? memory : disk).claim(record, lease, signal),
    renew: async (claim, lease, signal) =>
      (await memory.renew(claim, lease, signal)) || (await disk.renew(claim, lease, signal)),
    async release(claim, owner, signal) {
      // Where it is not held, that does nothing.
      await memory.release(claim, owner, signal)
      await disk.release(claim, owner, signal)
    },
    async complete(manifest, signal) {
      await disk.complete(manifest, signal)
      // Ends the claim and keeps it ended, should the render be delivered again.
      if (manifest.render.mode === 'sync') await memory.complete(manifest, signal)
    },
    async find(id, signal) {
      // Memory answers at once, and of renders under way only one of the two knows.
      const view = await memory.find(id, signal)
      return view === undefined || isTerminal(view.state.status) ? await disk.find(id, signal) : view
    },
  }
}
