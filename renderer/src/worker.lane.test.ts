import { SYNC_SLOTS } from '@platen/contract/domain/limit.ts'
import { LANES, type Lane } from '@platen/contract/domain/render.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import { expect, test } from 'vitest'
import { aRecord, NEVER } from '../../test/fixture/build.ts'
import { aWorker, type Script } from '../../test/fixture/render/work.ts'
import { SYNC_PAUSE_MS_MAX } from './worker/limit.ts'

/** Lets time pass, and all begin that may. Each step turns the event loop once, and everything is in memory: 50 turns are enough. */
async function pass({ clock }: Awaited<ReturnType<typeof aWorker>>, ms: number): Promise<void> {
  await clock.advance(ms)
  for (let turn = 0; turn < 50; turn++) await clock.advance(0)
}

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
  await pass(worker, 0)
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

/**
 * Expects that of two async renders the second begins `SYNC_PAUSE_MS_MAX` after the end of one render, and not earlier. Beside them is a
 * sync one, and the others do not end.
 */
async function expectPauseAfterEnd(ended: 'sync' | 'first'): Promise<void> {
  const [sync, first, second] = [aRecord({ lane: 'sync' }), aRecord(), aRecord()]
  const ending = ended === 'sync' ? sync : first
  const over = Promise.withResolvers<Uint8Array>()
  const script: Script = async ({ render: id }) => (id === ending.id ? Buffer.from('%PDF-') : await over.promise)
  const worker = await aWorker(script, [sync, first, second], { slots: 3 })
  using caller = worker.replies.expect(sync.id)
  const running = worker.run()
  if (ended === 'sync') await caller.reply(NEVER)
  // Until it has ended, and its slot is free again.
  await pass(worker, 0)
  await pass(worker, SYNC_PAUSE_MS_MAX - 1)
  expect(new Set(worker.worked)).toEqual(new Set([sync.id, first.id]))
  await pass(worker, 1)
  expect(worker.worked).toContain(second.id)
  worker.stop()
  over.resolve(Buffer.from('%PDF-'))
  await running
}

test('after a sync render, an async render waits for its caller to send the next one', () =>
  expectPauseAfterEnd('sync'))

test('beside a sync render, where one async render may run, the next one begins a moment after it', () =>
  expectPauseAfterEnd('first'))

test('a sync render begins though async renders have every slot but its own', async () => {
  const [sync, first, over] = [aRecord({ lane: 'sync' }), aRecord(), Promise.withResolvers<Uint8Array>()]
  const pdf = Buffer.from('%PDF-')
  const script: Script = async ({ render: id }) => (id === sync.id ? pdf : await over.promise)
  const worker = await aWorker(script, [first, aRecord(), sync], { slots: 1 + SYNC_SLOTS })
  const ended = worker.runUntil((_event, events) => events === 3)
  await worker.replies.expect(sync.id).reply(NEVER)
  expect(new Set<string>(worker.worked)).toEqual(new Set<string>([first.id, sync.id]))
  over.resolve(pdf)
  // The last one begins a moment after the first has ended.
  await pass(worker, 0)
  await pass(worker, SYNC_PAUSE_MS_MAX)
  expect((await ended)[0]?.manifest.render.id).toBe(sync.id)
})

/** Runs a worker that has ended a sync render. Its idle slots are woken in another order after each time that they are. */
async function afterSync(slots: number, script: Script, afterMs: number) {
  const first = aRecord({ lane: 'sync' })
  const pdf = Buffer.from('%PDF-')
  const work: Script = async (...task) => (task[0].render === first.id ? pdf : await script(...task))
  const worker = await aWorker(work, [first], { slots })
  using caller = worker.replies.expect(first.id)
  const running = worker.run()
  await caller.reply(NEVER)
  await pass(worker, 0)
  await pass(worker, afterMs)
  return { ...worker, running, others: () => worker.worked.filter((id) => id !== first.id) }
}

const WOKEN = [0, SYNC_PAUSE_MS_MAX]

test.for(WOKEN)(
  'a sync render takes the idle slot for them and leaves the other one to others, %i ms after the last',
  async (afterMs) => {
    const [sync, other, over] = [aRecord({ lane: 'sync' }), aRecord(), Promise.withResolvers<Uint8Array>()]
    const worker = await afterSync(1 + SYNC_SLOTS, () => over.promise, afterMs)
    using _caller = worker.replies.expect(sync.id)
    await worker.queue.enqueue(sync, NEVER)
    await pass(worker, 0)
    await worker.queue.enqueue(other, NEVER)
    await pass(worker, SYNC_PAUSE_MS_MAX)
    expect(worker.others()).toEqual([sync.id, other.id])
    worker.stop()
    over.resolve(Buffer.from('%PDF-'))
    await worker.running
  },
)

test.for(WOKEN)('sync renders that come at once begin in all slots, %i ms after the last', async (afterMs) => {
  const tenants = ['acme', 'globex', 'initech'] as TenantId[]
  const records = tenants.map((tenant) => aRecord({ lane: 'sync', tenant }))
  const over = Promise.withResolvers<Uint8Array>()
  const worker = await afterSync(2 + SYNC_SLOTS, () => over.promise, afterMs)
  const callers = records.map(({ id }) => worker.replies.expect(id))
  await Promise.all(records.map((record) => worker.queue.enqueue(record, NEVER)))
  await pass(worker, 0)
  expect(worker.others()).toEqual(records.map(({ id }) => id))
  worker.stop()
  over.resolve(Buffer.from('%PDF-'))
  await worker.running
  for (const caller of callers) caller[Symbol.dispose]()
})
