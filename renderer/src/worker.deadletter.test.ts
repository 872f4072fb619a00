/**
 * Renders that leave the queue without an outcome of this renderer: those whose manifest was damaged in the store or is of a newer format,
 * and those that crash their renderer.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import { FORMAT, NewerFormat } from '@platen/contract/domain/format.ts'
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { encodeManifest, manifestKey, type RenderRecord } from '@platen/contract/domain/render.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, test } from 'vitest'
import { aManifest, aRecord, NEVER } from '../../test/fixture/build.ts'
import { aWorker, inBucket, type Script } from '../../test/fixture/render/work.ts'

const REASON = /^the manifest cannot be read: its 100 bytes/

/** The damaged manifest in the store: the first half of one. */
const halfOf = (record: RenderRecord) => encodeManifest(aManifest({ record })).subarray(0, 100)

/** A worker with one render in its queue. Either the manifest of the render gets damaged, or its engine throws `crash`. */
async function aDamagedWorker(record: RenderRecord, crash?: Error) {
  const counted: string[] = []
  const script: Script = async ({ render }) => {
    if (render === record.id && crash !== undefined) throw crash
    // Another renderer has ended it during the render.
    if (render === record.id) await damage()
    return Buffer.from('%PDF-')
  }
  const worker = await aWorker(script, [record])
  worker.meter.deadLettered = (reason) => void counted.push(reason)
  const damage = () => worker.artifacts.put(inBucket(manifestKey(record.id)), halfOf(record), NEVER)
  return {
    ...worker,
    counted,
    damage,
    /** Runs until the next render has ended, which shows that the slot is free again. Returns the renders that got an event. */
    async run() {
      const next = aRecord()
      await worker.queue.enqueue(next, NEVER)
      const events = await worker.runUntil(({ manifest }) => manifest.render.id === next.id)
      expect((await worker.queue.consume('react_pdf', NEVER)).poll('async')).toBeUndefined()
      return events.map(({ manifest }) => manifest.render.id).filter((id) => id !== next.id)
    },
  }
}

const logged = (record: RenderRecord) => ({
  level: 'error',
  message: 'render outcome unreadable, dead-lettered',
  fields: expect.objectContaining({
    ...logFieldsOf(record),
    err: expect.objectContaining({ name: 'UnreadableManifest' }),
  }),
})

test('one that had ended is dead-lettered, and shows the outcome it had', async () => {
  const record = aRecord()
  const worker = await aDamagedWorker(record)
  const manifest = aManifest({ record })
  await worker.ledger.complete(manifest, NEVER)
  await worker.damage()
  // No event, because nobody knows how this render ended.
  expect(await worker.run()).toEqual([])
  expect(worker.queue.dead).toStrictEqual([{ record, reason: expect.stringMatching(REASON) }])
  expect(worker.lines.filter(({ level }) => level === 'error')).toEqual([logged(record)])
  expect(worker.counted).toEqual(['unreadable'])
  expect((await worker.ledger.find(record.id, NEVER))?.state).toEqual(manifest.outcome)
})

test('one whose renderer died before it published the outcome is dead-lettered at the next attempt, shown as failed and not charged', async () => {
  const record = aRecord({ units: 5 })
  const worker = await aDamagedWorker(record)
  await worker.ledger.claim(record, { owner: 'another', leaseMs: 0 }, NEVER)
  await worker.damage()
  expect(await worker.run()).toEqual([])
  expect(worker.queue.dead).toStrictEqual([{ record, reason: expect.stringMatching(REASON) }])
  expect(worker.lines.filter(({ level }) => level === 'error')).toEqual([logged(record)])
  const state = (await worker.ledger.find(record.id, NEVER))?.state
  expect(state).toMatchObject({ status: 'failed', error: { code: 'internal' } })
  expect(await worker.limiter.usage(record.account, record.period, NEVER)).toMatchObject({ charged: 1, reserved: 0 })
})

test('a sync one that is rendered a second time is answered, and dead-lettered', async () => {
  const record = aRecord({ lane: 'sync', mode: 'sync' })
  const worker = await aDamagedWorker(record)
  using caller = worker.replies.expect(record.id)
  const reply = caller.reply(NEVER)
  await worker.run()
  expect(await reply).toMatchObject({ kind: 'rendered' })
  expect(worker.queue.dead).toStrictEqual([{ record, reason: expect.stringMatching(REASON) }])
})

test('a sync one that cannot be told from an ended one is answered as a defect, at once', async () => {
  const record = aRecord({ lane: 'sync', mode: 'sync' })
  const worker = await aDamagedWorker(record)
  await worker.ledger.complete(aManifest({ record }), NEVER)
  await worker.damage()
  using caller = worker.replies.expect(record.id)
  const reply = caller.reply(NEVER)
  await worker.run()
  expect(await reply).toMatchObject({ kind: 'failed', error: { code: 'internal' } })
})

test('is dead-lettered only when its reservation is given back, however long the limiter is away', async () => {
  const record = aRecord()
  const worker = await aDamagedWorker(record)
  await worker.ledger.complete(aManifest({ record }), NEVER)
  await worker.damage()
  let away = 3
  const complete = worker.limiter.complete.bind(worker.limiter)
  worker.limiter.complete = async (manifest, signal) => {
    if (manifest.render.id === record.id && away-- > 0) {
      expect(worker.queue.dead).toEqual([])
      // Runs after the worker has begun to wait.
      setImmediate(() => void worker.clock.advance(60_000))
      throw new Unavailable('connection refused')
    }
    await complete(manifest, signal)
  }
  await worker.run()
  expect(worker.queue.dead).toHaveLength(1)
})

test('one that crashes its renderer each time has an event, and is counted as crashed', async () => {
  const record = aRecord()
  const worker = await aDamagedWorker(record, new ServiceError('render_crashed', 'thread died'))
  expect(await worker.run()).toEqual([record.id])
  expect(worker.queue.dead).toStrictEqual([{ record, reason: 'render_crashed' }])
  expect(worker.counted).toEqual(['crashed'])
})

test('one whose manifest is of a newer format is left in the queue, and the log names the format', async () => {
  const record = aRecord()
  const worker = await aDamagedWorker(record)
  const newer = Buffer.from(`{"version":${FORMAT + 1}}`)
  await worker.ledger.complete(aManifest({ record }), NEVER)
  await worker.artifacts.put(inBucket(manifestKey(record.id)), newer, NEVER)
  const next = aRecord()
  await worker.queue.enqueue(next, NEVER)
  const events = await worker.runUntil(({ manifest }) => manifest.render.id === next.id)
  expect(events).toHaveLength(1)
  expect((await worker.queue.consume('react_pdf', NEVER)).poll('async')?.record).toStrictEqual(record)
  expect([worker.queue.dead, worker.counted]).toEqual([[], []])
  const errors = worker.lines.filter(({ level }) => level === 'error')
  const fields = { render: record.id, err: new NewerFormat(FORMAT + 1) }
  expect(errors).toMatchObject([{ message: 'render not completed', fields }])
})
