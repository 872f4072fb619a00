import {
  type Cancellation,
  cancellationOf,
  decodeManifest,
  encodeManifest,
  type Manifest,
  manifestKey,
  pdfKey,
  type RenderRecord,
  removedManifestOf,
} from '@platen/contract/domain/render.ts'
import { expect, test } from 'vitest'
import { aManifest, aRecord, NEVER, NOON } from '../../test/fixture/build.ts'
import { aWorker, inBucket, untilAborted } from '../../test/fixture/render/work.ts'
import { CANCELED_POLL_MS } from './worker/limit.ts'

const PDF = Buffer.from('%PDF-1.7 a document')
const HOOK = 'https://hooks.example.com'

type Worker = Awaited<ReturnType<typeof aWorker>>

async function manifestOf({ artifacts }: Worker, { id }: RenderRecord): Promise<Manifest> {
  return decodeManifest((await artifacts.get(inBucket(manifestKey(id)), NEVER)) ?? Buffer.of())
}

/** What the API writes, which knows the render by its id alone. */
function cancellation({ id, tenant, account, environment, storage }: RenderRecord): Cancellation {
  return cancellationOf({ id, tenant, account, environment, storage, retentionDays: 1 }, NOON)
}

async function cancelByApi({ artifacts }: Worker, record: RenderRecord): Promise<void> {
  const bytes = encodeManifest(cancellation(record))
  expect(await artifacts.create(inBucket(manifestKey(record.id)), bytes, NEVER)).toBe(true)
}

/** Runs until the event is in the log. Checks that it says all of the record, once, and that nothing is charged. */
async function expectCanceled(worker: Worker, record: RenderRecord): Promise<void> {
  const events = await worker.runUntil((_event, count) => count === 1)
  const { data: _data, lane: _lane, deadlineMs: _deadline, javascriptEnabled: _javascript, ...render } = record
  const outcome = { status: 'failed', error: { code: 'canceled' } }
  expect(events).toMatchObject([{ type: 'render.failed', manifest: { render, attempt: 1, outcome } }])
  expect(await manifestOf(worker, record)).toEqual({ ...events[0]?.manifest, eventId: events[0]?.id })
  expect((await worker.ledger.find(record.id, NEVER))?.state).toMatchObject(outcome)
  const { account, period } = record
  expect(await worker.limiter.usage(account, period, NEVER)).toEqual({ charged: 0, reserved: 0 })
  expect((await worker.queue.consume('react_pdf', NEVER)).poll('async')).toBeUndefined()
}

test.for(['before the API wrote that', 'when the API wrote that', 'when Redis lost that it is'] as const)(
  'a render that was canceled while it waited ends as that, %s',
  async (when) => {
    const record = aRecord({ webhookUrl: HOOK, retentionDays: 7 })
    const worker = await aWorker(async () => PDF, [record])
    if (when !== 'when Redis lost that it is') await worker.ledger.cancel(record.id, NEVER)
    if (when !== 'before the API wrote that') await cancelByApi(worker, record)
    await expectCanceled(worker, record)
    expect(worker.worked).toHaveLength(when === 'when Redis lost that it is' ? 1 : 0)
    expect(await Array.fromAsync(worker.artifacts.list('platen', `acme/${record.id}/`, NEVER))).toEqual([])
  },
)

test('a render that is canceled while it runs is ended within a second', async () => {
  const record = aRecord({ webhookUrl: HOOK })
  const worker = await aWorker(
    async (_work, signal) => {
      const aborted = untilAborted(signal)
      expect(await worker.ledger.cancel(record.id, NEVER)).toBe(true)
      void worker.clock.advance(CANCELED_POLL_MS)
      return await aborted
    },
    [record],
  )
  await expectCanceled(worker, record)
  expect((await manifestOf(worker, record)).outcome.finishedAt).toBe(NOON + CANCELED_POLL_MS)
  expect(CANCELED_POLL_MS).toBeLessThan(1000)
})

test.for(['waits', 'runs'] as const)(
  'the caller of a sync render that %s is told when it is canceled',
  async (state) => {
    const record = aRecord({ mode: 'sync', lane: 'sync' })
    const worker = await aWorker(
      async (_work, signal) => {
        const aborted = untilAborted(signal)
        await worker.ledger.cancel(record.id, NEVER)
        void worker.clock.advance(CANCELED_POLL_MS)
        return await aborted
      },
      [record],
    )
    using pending = worker.replies.expect(record.id)
    if (state === 'waits') {
      await worker.ledger.complete(cancellation(record), NEVER)
      await cancelByApi(worker, record)
    }
    const [reply] = await Promise.all([pending.reply(NEVER), expectCanceled(worker, record)])
    expect(reply).toMatchObject({ kind: 'failed', error: { code: 'canceled' } })
  },
)

test('the outcome that was stored first counts, and a renderer killed before it was published leaves nothing', async () => {
  const record = aRecord({ webhookUrl: HOOK })
  const worker = await aWorker(async () => PDF, [record])
  const stored = removedManifestOf(aManifest({ record }))
  await worker.artifacts.put(inBucket(manifestKey(record.id)), encodeManifest(stored), NEVER)
  const late = inBucket(pdfKey(record, 'late'))
  await worker.artifacts.put(late, PDF, NEVER)
  const [event] = await worker.runUntil((_event, count) => count === 1)
  expect(event).toMatchObject({ type: 'render.succeeded', manifest: { render: { webhookUrl: HOOK } } })
  expect(await worker.limiter.usage(record.account, record.period, NEVER)).toEqual({ charged: 1, reserved: 0 })
  expect(await Array.fromAsync(worker.artifacts.list('platen', `acme/${record.id}/`, NEVER))).toEqual([])
  expect(await manifestOf(worker, record)).toEqual(stored)
})
