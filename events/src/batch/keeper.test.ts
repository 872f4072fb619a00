import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import {
  encodeManifest,
  manifestAddress,
  type Outcome,
  type RenderRecord,
  tombstoneOf,
} from '@platen/contract/domain/render.ts'
import { mintBatchId, renderIdsOfBatch } from '@platen/contract/domain/render-id.ts'
import {
  type Batch,
  batchAddresses,
  decodeBatchEnd,
  encodeBatch,
  encodeBatchEnd,
  encodeItem,
  encodeOpenBatch,
  itemsAddress,
  keptUnder,
  refusedBatchOf,
} from '@platen/contract/stored/batch.ts'
import { expect, test } from 'vitest'
import { aFailure, aManifest, aRecord, NEVER, NOON, SILENT } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { memoryDeliveryLog } from '../../../test/fixture/memory/delivery-log.ts'
import { memoryLimiter } from '../../../test/fixture/memory/limiter.ts'
import { openBatchKeeper } from './keeper.ts'
import { BATCH_QUEUED_BY_API_MS, BATCHES_LISTED_EVERY_MS, UNACCEPTED_KEPT_MS } from './limit.ts'

const BUCKET = 'platen'
const DAY_MS = 24 * 60 * 60 * 1000

function aBatch(count: number, fields: Partial<Batch> = {}): Batch {
  const { id: _id, mode: _mode, lane: _lane, data: _data, ...common } = aRecord()
  const keys = [Buffer.alloc(32, 1)] as const
  const scope = { account: common.account, environment: common.environment }
  const id = mintBatchId(scope, keys, { now: NOON, random: Buffer.alloc(5, count) })
  const renders = renderIdsOfBatch(id, count, { scope, keys })
  return {
    ...common,
    id,
    renders,
    eventId: 'event-1',
    webhookUrl: 'https://example.com/x',
    reference: 'all',
    ...fields,
  }
}

async function aScene() {
  const clock = manualClock(NOON)
  const artifacts = memoryArtifactStore()
  const deliveries = memoryDeliveryLog(clock)
  const queue = memoryRenderQueue()
  const limiter = memoryLimiter(clock)
  const own = { ledger: memoryRenderLedger(clock), limiter, queue, deliveries, artifacts, clock, log: SILENT }
  const ports = { ...own, serviceBucket: BUCKET, retriesMax: 5 }
  const stop = new AbortController()
  const keepers: { readonly keeper: ReturnType<typeof openBatchKeeper>; readonly ended: Promise<void> }[] = []
  const has = (address: { bucket: string; key: string }) => artifacts.has(address, NEVER)
  return {
    ...own,
    start(more: { queuedByApiMs?: number } = {}) {
      const keeper = openBatchKeeper({ ...ports, ...more })
      keepers.push({ keeper, ended: keeper.run(stop.signal) })
      return keeper
    },
    /** What the API leaves: everything, or nothing but the sign. */
    async accept(batch: Batch, { isQueued = true, isAccepted = true } = {}) {
      const { open, accepted } = batchAddresses(batch, BUCKET)
      const items = batch.renders.map((_, n) => encodeItem({ data: { n }, filename: `${n}.pdf` }))
      await artifacts.put(open, encodeOpenBatch(batch), NEVER)
      if (!isQueued) await artifacts.put(itemsAddress(batch), Buffer.concat(items), NEVER)
      if (isAccepted) await artifacts.create(accepted, encodeBatch(batch), NEVER)
    },
    async end(batch: Batch, at: number, outcome?: Outcome) {
      const record = aRecord({ id: batch.renders[at] ?? aRecord().id, batch: batch.id })
      const manifest = aManifest({ record, ...(outcome && { outcome }) })
      await artifacts.put(manifestAddress(record.id, BUCKET), encodeManifest(manifest), NEVER)
    },
    async endOf(batch: Batch) {
      const bytes = await artifacts.get(batchAddresses(batch, BUCKET).ended, NEVER)
      return bytes && decodeBatchEnd(bytes)
    },
    isOpen: (batch: Batch) => has(batchAddresses(batch, BUCKET).open),
    hasItems: (batch: Batch) => has(itemsAddress(batch)),
    told: () => deliveries.find('event-1', NEVER),
    /** Lets every keeper look at everything. */
    async pass(ms = BATCHES_LISTED_EVERY_MS) {
      for (let turn = 0; turn < 300; turn++) await new Promise((resolve) => setImmediate(resolve))
      await clock.advance(ms)
      for (let turn = 0; turn < 300; turn++) await new Promise((resolve) => setImmediate(resolve))
    },
    async queued(): Promise<readonly RenderRecord[]> {
      await using consumer = await queue.consume('react_pdf', NEVER)
      const records = []
      for (let next = consumer.poll('bulk'); next !== undefined; next = consumer.poll('bulk')) {
        records.push(next.record)
        await next.done(NEVER)
      }
      return records
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      for (const { ended } of keepers) await ended
    },
  }
}

test('a batch ends when its last render has, once, and is told of with its counts', async () => {
  await using scene = await aScene()
  const batch = aBatch(70)
  await scene.accept(batch)
  const [one, other] = [scene.start(), scene.start()]
  for (const at of batch.renders.keys()) if (at !== 40) await scene.end(batch, at, at === 3 ? aFailure() : undefined)
  for (const keeper of [one, other]) keeper.touch(batch)
  await scene.pass()
  expect([await scene.endOf(batch), await scene.told(), await scene.isOpen(batch)]).toEqual([
    undefined,
    undefined,
    true,
  ])
  await scene.end(batch, 40)
  for (const keeper of [one, other]) keeper.touch(batch)
  await scene.pass()
  expect(await scene.endOf(batch)).toEqual({ endedAt: NOON + 500, succeeded: 69, failed: 1 })
  expect(await scene.isOpen(batch)).toBe(false)
  const { delivery } = (await scene.told()) ?? {}
  expect(delivery).toMatchObject({ type: 'batch.ended', url: 'https://example.com/x', retriesMax: 5 })
  expect(JSON.parse(delivery?.body ?? '')).toEqual({
    batch_id: batch.id,
    template: 'invoice',
    reference: 'all',
    status: 'ended',
    total: 70,
    succeeded: 69,
    failed: 1,
    created_at: '2026-11-21T12:00:00.000Z',
    ended_at: '2026-11-21T12:00:00.500Z',
  })
  expect(await scene.deliveries.listByRender(keptUnder(batch.id), NEVER)).toHaveLength(1)
})

test('is noticed a minute later if nobody said that its last render has ended', async () => {
  await using scene = await aScene()
  const batch = aBatch(2)
  await scene.accept(batch)
  scene.start()
  await scene.pass(1)
  for (const at of [0, 1]) await scene.end(batch, at)
  await scene.pass()
  expect(await scene.endOf(batch)).toMatchObject({ succeeded: 2 })
})

test('an end that was created and not told is told by the next process', async () => {
  await using scene = await aScene()
  const batch = aBatch(1)
  await scene.accept(batch)
  await scene.end(batch, 0)
  const end = { endedAt: NOON + 7, succeeded: 1, failed: 0 }
  await scene.artifacts.create(batchAddresses(batch, BUCKET).ended, encodeBatchEnd(end), NEVER)
  scene.start()
  await scene.pass()
  expect((await scene.told())?.delivery.createdAt).toBe(NOON + 7)
  expect(await scene.endOf(batch)).toEqual(end)
  expect(await scene.isOpen(batch)).toBe(false)
})

test('renders that the API did not queue are queued when it had its time', async () => {
  await using scene = await aScene()
  const batch = aBatch(3)
  await scene.accept(batch, { isQueued: false })
  scene.start()
  await scene.pass(BATCH_QUEUED_BY_API_MS - 1)
  expect([await scene.queued(), await scene.hasItems(batch)]).toEqual([[], true])
  await scene.pass()
  const records = await scene.queued()
  expect(records).toMatchObject(
    [0, 1, 2].map((n) => ({ id: batch.renders[n], batch: batch.id, lane: 'bulk', data: { inline: { n } } })),
  )
  expect(records.map(({ options, webhookUrl, reference }) => [options, webhookUrl, reference])).toEqual(
    [0, 1, 2].map((n) => [{ filename: `${n}.pdf` }, undefined, undefined]),
  )
  expect(await scene.limiter.usage(batch.account, batch.period, NEVER)).toEqual({ charged: 0, reserved: 3 })
  expect(await scene.hasItems(batch)).toBe(false)
  await scene.pass()
  expect(await scene.queued()).toEqual([])
})

test('renders of a tenant whose requests are stored leave nothing of them in the queue', async () => {
  await using scene = await aScene()
  const batch = aBatch(1, { requestData: 'Stored' })
  await scene.accept(batch, { isQueued: false })
  scene.start({ queuedByApiMs: 0 })
  await scene.pass(1)
  const [record] = await scene.queued()
  expect(record).toMatchObject({ requestData: 'Stored', options: {}, data: { stored: { bucket: BUCKET } } })
  const stored = record && 'stored' in record.data ? await scene.artifacts.get(record.data.stored, NEVER) : undefined
  expect(Buffer.from(stored ?? []).toString()).toBe('{"filename":"0.pdf"}\n{"n":0}')
})

test('a batch that was refused, erased or never accepted queues nothing and tells nobody', async () => {
  await using scene = await aScene()
  const [refused, erased] = [refusedBatchOf(aBatch(2)), aBatch(3)]
  await scene.accept(refused, { isQueued: false })
  await scene.accept(erased, { isQueued: false, isAccepted: false })
  scene.start({ queuedByApiMs: 0 })
  await scene.pass(1)
  expect([await scene.isOpen(refused), await scene.hasItems(refused)]).toEqual([false, false])
  expect(await scene.isOpen(erased)).toBe(true)
  await scene.clock.advance(UNACCEPTED_KEPT_MS)
  await scene.pass()
  expect(await scene.isOpen(erased)).toBe(false)
  expect([await scene.queued(), await scene.told()]).toEqual([[], undefined])
})

test('renders that are erased, damaged or never taken have failed, and nobody is told after the retention', async () => {
  await using scene = await aScene()
  const batch = aBatch(4, { retentionDays: 1 })
  await scene.accept(batch)
  await scene.end(batch, 0)
  const [, second, third] = batch.renders
  const put = (id: string | undefined, bytes: Uint8Array) =>
    scene.artifacts.put({ bucket: BUCKET, key: `manifest/${id}.json` }, bytes, NEVER)
  if (second) await put(second, encodeManifest(tombstoneOf({ id: second, storage: batch.storage }, NOON + 9)))
  await put(third, Buffer.from('{'))
  scene.start()
  await scene.pass()
  expect(await scene.endOf(batch)).toBeUndefined()
  await scene.clock.advance(2 * DAY_MS)
  await scene.pass()
  expect(await scene.endOf(batch)).toMatchObject({ succeeded: 1, failed: 3 })
  expect([await scene.told(), await scene.isOpen(batch)]).toEqual([undefined, false])
})
