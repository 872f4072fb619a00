/**
 * Sync renders live in memory, all others on disk: no disk flush may stand before a sync answer, and a sync render that dies
 * with its process has no caller left. Its manifest tells a later GET how it ended.
 */

import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import type { Lane } from '@platen/contract/render.ts'

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
    async arrival(signal) {
      // The loser's wait is ended with the winner's, else every arrival of one would leave a waiter behind in the other.
      const over = new AbortController()
      const either = AbortSignal.any([signal, over.signal])
      const waits = [memory.arrival(either), disk.arrival(either)]
      try {
        await Promise.race(waits)
      } finally {
        over.abort()
        await Promise.allSettled(waits)
      }
    },
    async [Symbol.asyncDispose]() {
      await memory[Symbol.asyncDispose]()
      await disk[Symbol.asyncDispose]()
    },
  }
}

/** One ledger out of two. Where only an id is known the memory is asked first: it answers at once. */
export function ledgerByLane({ memory, disk }: ByLane<RenderLedger>): RenderLedger {
  return {
    open: (record, signal) => (record.lane === 'sync' ? memory : disk).open(record, signal),
    claim: (record, lease, signal) => (record.lane === 'sync' ? memory : disk).claim(record, lease, signal),
    renew: async (claim, lease, signal) =>
      (await memory.renew(claim, lease, signal)) || (await disk.renew(claim, lease, signal)),
    settle: (manifest, signal) => (manifest.render.mode === 'sync' ? memory : disk).settle(manifest, signal),
    find: async (id, signal) => (await memory.find(id, signal)) ?? (await disk.find(id, signal)),
  }
}
