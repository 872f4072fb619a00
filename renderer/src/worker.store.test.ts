/** A worker whose artifact store is unavailable. */
import { setImmediate } from 'node:timers/promises'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, test } from 'vitest'
import { aRecord, NEVER } from '../../test/fixture/build.ts'
import { aWorker } from '../../test/fixture/render/work.ts'
import { CLAIM_LEASE_MS, STORE_RETRY_MS_MAX, STORING_PER_SLOT_MAX, SYNC_STORING_PER_SLOT_MAX } from './worker/limit.ts'

const PDF = Buffer.from('%PDF-1.7 a document')
const DEADLINE_MS = 25_000

/** A worker with one render, whose engine takes `renderMs`. One call of the artifact store is refused until the test allows it. */
async function aRefusedWorker(refusal: 'get' | 'put' | 'create', lane: 'async' | 'sync' = 'async', renderMs = 0) {
  const record = aRecord({ lane, deadlineMs: DEADLINE_MS, units: 5 })
  const script = async () => {
    if (renderMs > 0) await worker.clock.sleep(renderMs, NEVER)
    return PDF
  }
  const worker = await aWorker(script, [record])
  const caller = worker.replies.expect(record.id)
  const refused = { get: false, put: false, create: false, [refusal]: true }
  const calls = { get: 0, put: 0, create: 0 }
  for (const name of ['get', 'put', 'create'] as const) {
    const call = worker.artifacts[name].bind(worker.artifacts)
    // Each call passes its arguments on unchanged.
    worker.artifacts[name] = async (...values: never[]) => {
      calls[name] += 1
      if (refused[name]) throw new Unavailable('no answer')
      return await (call as (...same: never[]) => Promise<never>)(...values)
    }
  }
  const outcome = worker.runUntil(() => true).then(([event]) => event?.manifest.outcome)
  return {
    ...worker,
    record,
    refused,
    calls,
    caller,
    /** The outcome in the event, and no other event. */
    outcome: () => outcome,
    /** Advances the clock in small steps, so that every retry happens. */
    async pass(ms: number) {
      // The first step is over before the worker has begun.
      for (let passed = 0; passed <= ms; passed += 500) await worker.clock.advance(500)
    },
  }
}

const FAILED = { status: 'failed', error: { code: 'internal', message: expect.stringContaining('storage') } }

test('a render waits for what it is made of, and begins when it can be had', async () => {
  const worker = await aRefusedWorker('get')
  await worker.pass(DEADLINE_MS - 2000)
  expect(worker.worked).toEqual([])
  worker.refused.get = false
  await worker.pass(STORE_RETRY_MS_MAX)
  expect(await worker.outcome()).toMatchObject({ status: 'succeeded' })
})

test('a render whose parts cannot be had within its deadline fails as internal, and costs nothing', async () => {
  const worker = await aRefusedWorker('get')
  await worker.pass(DEADLINE_MS)
  expect(await worker.outcome()).toMatchObject(FAILED)
  expect(worker.worked).toEqual([])
  expect(await worker.limiter.usage(worker.record.account, worker.record.period, NEVER)).toEqual({
    charged: 0,
    reserved: 0,
  })
})

test('a render that is not stored within its deadline fails as internal, its caller having had it', async () => {
  const worker = await aRefusedWorker('put', 'sync')
  await worker.pass(DEADLINE_MS)
  expect(await worker.outcome()).toMatchObject(FAILED)
  expect(await worker.caller.reply(NEVER)).toMatchObject({ kind: 'rendered', pdf: [PDF], sha256: sha256(PDF) })
  expect(worker.worked).toHaveLength(1)
})

test('a PDF gets one whole try, though the deadline has passed meanwhile', async () => {
  const worker = await aRefusedWorker('get', 'async', DEADLINE_MS - 1000)
  const put = worker.artifacts.put.bind(worker.artifacts)
  worker.artifacts.put = async (address, bytes, signal) => {
    signal.throwIfAborted()
    await put(address, bytes, signal)
  }
  await worker.pass(DEADLINE_MS - 2000)
  worker.refused.get = false
  await worker.pass(STORE_RETRY_MS_MAX + DEADLINE_MS)
  expect(await worker.outcome()).toMatchObject({ status: 'succeeded' })
})

test('an outcome is written however long that takes, soon after it can be, by who holds the render all the while', async () => {
  const worker = await aRefusedWorker('create')
  await worker.pass(4 * CLAIM_LEASE_MS)
  const other = { owner: 'other', leaseMs: CLAIM_LEASE_MS }
  expect(await worker.ledger.claim(worker.record, other, NEVER)).toMatchObject({ kind: 'held' })
  // One attempt before and one after each of the longest waits. The first wait is shorter.
  expect(worker.calls.create).toBeGreaterThan((4 * CLAIM_LEASE_MS) / STORE_RETRY_MS_MAX)
  worker.refused.create = false
  await worker.pass(STORE_RETRY_MS_MAX)
  expect(await worker.outcome()).toMatchObject({ status: 'succeeded' })
  expect(worker.worked).toHaveLength(1)
})

async function turns(count = 50): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate()
}

/** A worker of one slot whose store holds every PDF back until the test lets them through. */
async function aWorkerThatStores(count: number, { lane }: { lane: 'async' | 'sync' }) {
  const records = Array.from({ length: count }, () => aRecord({ lane }))
  const worker = await aWorker(async () => PDF, records)
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>()
  const put = worker.artifacts.put.bind(worker.artifacts)
  worker.artifacts.put = async (...request) => {
    await allowed
    await put(...request)
  }
  return { ...worker, records, allow }
}

test.for([
  ['async', STORING_PER_SLOT_MAX],
  ['sync', SYNC_STORING_PER_SLOT_MAX],
] as const)('a slot renders further %s documents while %i are stored, and then waits', async ([lane, storingMax]) => {
  const worker = await aWorkerThatStores(storingMax + 3, { lane })
  const events = worker.runUntil((_, seen) => seen === worker.records.length)
  // The last one that is rendered keeps its slot.
  await turns(200)
  expect(worker.worked).toHaveLength(storingMax + 1)
  worker.allow()
  expect(new Set((await events).map(({ manifest }) => manifest.render.id))).toEqual(
    new Set(worker.records.map(({ id }) => id)),
  )
})

test('a worker that stops waits until what it rendered is stored', async () => {
  const worker = await aWorkerThatStores(2, { lane: 'async' })
  let hasEnded = false
  const run = async () => {
    await worker.run()
    hasEnded = true
  }
  const running = run()
  await turns()
  expect(worker.worked).toHaveLength(2)
  worker.stop()
  await turns()
  expect(hasEnded).toBe(false)
  worker.allow()
  await running
  const ended = await Promise.all(worker.records.map(({ id }) => worker.ledger.find(id, NEVER)))
  expect(ended.map((found) => found?.state.status)).toEqual(['succeeded', 'succeeded'])
})
