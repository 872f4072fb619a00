import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { manualClock } from '@platen/adapters/memory/clock.ts'
import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import { memoryEventLog } from '@platen/adapters/memory/event-log.ts'
import { memoryLimiter } from '@platen/adapters/memory/limiter.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { memoryReplyChannel } from '@platen/adapters/memory/reply-channel.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { LANES, type Lane, templateKey } from '@platen/contract/render.ts'
import { expect, test } from 'vitest'
import { aRecord, aRendererMeter, NOON } from '../../test/fixture/build.ts'
import type { RenderEngine } from './engine/engine.ts'
import { runWorker } from './worker.ts'

const NEVER = new AbortController().signal
const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Which renders are under way at once in an engine of three slots, with three waiting in each lane, while none of them ends. */
async function underWay(lanes: readonly Lane[] | undefined): Promise<Record<Lane, number>> {
  const clock = manualClock(NOON)
  const records = LANES.flatMap((lane) => [1, 2, 3].map(() => aRecord({ lane })))
  const count = { sync: 0, async: 0, bulk: 0 }
  const over = Promise.withResolvers<Uint8Array>()
  const engine: RenderEngine = {
    name: 'react_pdf',
    slots: 3,
    state: () => 'running',
    ready: async () => {},
    async render({ render }) {
      count[records.find(({ id }) => id === render)?.lane ?? 'bulk'] += 1
      return { pdf: await over.promise, warnings: [] }
    },
    async [Symbol.asyncDispose]() {},
  }
  const ports = {
    queue: memoryRenderQueue(),
    ledger: memoryRenderLedger(clock),
    events: memoryEventLog(),
    replies: memoryReplyChannel(),
    limiter: memoryLimiter(clock),
    directory: memoryDirectory(),
    artifacts: memoryArtifactStore(),
    clock,
    log: silent,
    meter: aRendererMeter(),
  }
  for (const record of records) {
    const key = templateKey(record.template.digest)
    await ports.artifacts.put({ bucket: 'platen', key }, Buffer.from('{"options":{}}'), NEVER)
    await ports.queue.enqueue(record, NEVER)
  }
  // Those who called wait for all of them.
  const callers = records.filter(({ lane }) => lane === 'sync').map(({ id }) => ports.replies.expect(id))
  const stopping = new AbortController()
  const settings = { owner: 'this', serviceBucket: 'platen', eventKey: Buffer.alloc(32), ...(lanes && { lanes }) }
  const running = runWorker(ports, engine, { settings, signal: stopping.signal })
  // The event loop turns with each: everything here is in memory, and whatever may begin has begun by then.
  for (let turn = 0; turn < 50; turn++) await clock.advance(0)
  const seen = { ...count }
  stopping.abort()
  over.resolve(Buffer.from('%PDF-'))
  await running
  for (const caller of callers) caller[Symbol.dispose]()
  return seen
}

test.for<[string, readonly Lane[] | undefined, Record<Lane, number>]>([
  ['all lanes, sync first', undefined, { sync: 3, async: 0, bulk: 0 }],
  ['sync alone in every slot', ['sync'], { sync: 3, async: 0, bulk: 0 }],
  ['async alone in every slot, none being kept for sync', ['async'], { sync: 0, async: 3, bulk: 0 }],
  ['async before bulk where no sync is served', ['async', 'bulk'], { sync: 0, async: 3, bulk: 0 }],
])('a worker serves %s', async ([, lanes, expected]) => {
  expect(await underWay(lanes)).toEqual(expected)
})
