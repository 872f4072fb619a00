import { LANES, type Lane } from '@platen/contract/render.ts'
import { expect, test } from 'vitest'
import { aRecord, NEVER } from '../../test/fixture/build.ts'
import { aWorker, type Script } from '../../test/fixture/render/work.ts'
import { SYNC_PAUSE_MS_MAX } from './worker/limit.ts'

/** Counts the running renders per lane: an engine of three slots, three renders waiting in each lane, and none of them ends. */
async function underWay(lanes: readonly Lane[] | undefined): Promise<Record<Lane, number>> {
  const records = LANES.flatMap((lane) => [1, 2, 3].map(() => aRecord({ lane })))
  const count = { sync: 0, async: 0, bulk: 0 }
  const over = Promise.withResolvers<Uint8Array>()
  const script: Script = async ({ render: id }) => {
    count[records.find((record) => record.id === id)?.lane ?? 'bulk'] += 1
    return await over.promise
  }
  const worker = await aWorker(script, records, { slots: 3, lanes })
  // The callers wait for all of the sync renders.
  const callers = records.filter(({ lane }) => lane === 'sync').map(({ id }) => worker.replies.expect(id))
  const running = worker.run()
  // Each step turns the event loop once. Everything is in memory, so whatever may begin has begun after 50 turns.
  for (let turn = 0; turn < 50; turn++) await worker.clock.advance(0)
  const seen = { ...count }
  worker.stop()
  over.resolve(Buffer.from('%PDF-'))
  await running
  for (const caller of callers) caller[Symbol.dispose]()
  return seen
}

test.for<[string, readonly Lane[] | undefined, Record<Lane, number>]>([
  ['all lanes, sync first, and one tenant has not all slots for it', undefined, { sync: 2, async: 1, bulk: 0 }],
  ['sync alone, in every slot but the last, which is for another tenant', ['sync'], { sync: 2, async: 0, bulk: 0 }],
  ['async alone in every slot, none being kept for sync', ['async'], { sync: 0, async: 3, bulk: 0 }],
  ['async before bulk where no sync is served', ['async', 'bulk'], { sync: 0, async: 3, bulk: 0 }],
])('a worker serves %s', async ([, lanes, expected]) => {
  expect(await underWay(lanes)).toEqual(expected)
})

test('after a sync render, an async render waits for its caller to send the next one', async () => {
  const [sync, first, second] = [aRecord({ lane: 'sync' }), aRecord(), aRecord()]
  const over = Promise.withResolvers<Uint8Array>()
  const script: Script = async ({ render: id }) => (id === sync.id ? Buffer.from('%PDF-') : await over.promise)
  const worker = await aWorker(script, [sync, first, second], { slots: 3 })
  using caller = worker.replies.expect(sync.id)
  const running = worker.run()
  await caller.reply(NEVER)
  const pass = async (ms: number) => {
    await worker.clock.advance(ms)
    for (let turn = 0; turn < 50; turn++) await worker.clock.advance(0)
  }
  // Until the slot is free again.
  await pass(0)
  await pass(SYNC_PAUSE_MS_MAX - 1)
  expect(new Set(worker.worked)).toEqual(new Set([sync.id, first.id]))
  await pass(1)
  expect(worker.worked).toContain(second.id)
  worker.stop()
  over.resolve(Buffer.from('%PDF-'))
  await running
})

test('beside a sync render, where one async render may run, the next one begins a moment after it', async () => {
  const [sync, first, second] = [aRecord({ lane: 'sync' }), aRecord(), aRecord()]
  const over = Promise.withResolvers<Uint8Array>()
  const script: Script = async ({ render: id }) => (id === first.id ? Buffer.from('%PDF-') : await over.promise)
  const worker = await aWorker(script, [sync, first, second], { slots: 3 })
  using _caller = worker.replies.expect(sync.id)
  const running = worker.run()
  const pass = async (ms: number) => {
    await worker.clock.advance(ms)
    for (let turn = 0; turn < 50; turn++) await worker.clock.advance(0)
  }
  // Until the first one has ended.
  await pass(0)
  await pass(SYNC_PAUSE_MS_MAX - 1)
  expect(new Set(worker.worked)).toEqual(new Set([sync.id, first.id]))
  await pass(1)
  expect(worker.worked).toContain(second.id)
  worker.stop()
  over.resolve(Buffer.from('%PDF-'))
  await running
})
