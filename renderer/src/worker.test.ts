import { ServiceError } from '@platen/contract/domain/error.ts'
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import { QUEUE_AGE_MS_MAX, RESERVATION_MS } from '@platen/contract/domain/limit.ts'
import {
  decodeManifest,
  encodeManifest,
  manifestKey,
  pdfKey,
  type RenderRecord,
  tombstoneOf,
} from '@platen/contract/domain/render.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { Usage } from '@platen/contract/port/limiter.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import {
  aFailure,
  aManifest,
  anAbandonedManifest,
  anEvent,
  aRecord,
  aTenant,
  NEVER,
  NOON,
} from '../../test/fixture/build.ts'
import { aWorker, inBucket, type Script, untilAborted } from '../../test/fixture/render/work.ts'

const PDF = Buffer.from('%PDF-1.7 a document')

type Worker = Awaited<ReturnType<typeof aWorker>>

/** Publishes a directory with one suspended tenant. */
async function suspend({ directory }: Worker, fields: Parameters<typeof aTenant>[0] & { id: TenantId }): Promise<void> {
  const tenants = new Map([[fields.id, aTenant({ ...fields, suspended: true })]])
  await directory.publish({ ...directory.current(), revision: 1, tenants }, NEVER)
}

function usageOf({ limiter }: Worker, { account, period }: RenderRecord): Promise<Usage> {
  return limiter.usage(account, period, NEVER)
}

/** Runs the worker until `count` events are in the log. */
function eventsOf(worker: Worker, count: number): Promise<RenderEvent[]> {
  return worker.runUntil((_event, events) => events === count)
}

describe('a render', () => {
  test('that succeeds leaves its PDF, one manifest, one event, a settled view and an empty queue', async () => {
    const record = aRecord()
    const worker = await aWorker(async () => PDF, [record])
    const [event] = await eventsOf(worker, 1)
    const outcome = event?.manifest.outcome
    expect(event?.type).toBe('render.succeeded')
    if (outcome?.status !== 'succeeded') throw new Error('it did not succeed')
    expect(Buffer.from((await worker.artifacts.get(outcome.pdf.address, NEVER)) ?? [])).toEqual(PDF)
    expect(outcome.pdf.address.key).toBe(`acme/${record.id}/${outcome.pdf.sha256}.pdf`)
    const manifest = await worker.artifacts.get(inBucket(manifestKey(record.id)), NEVER)
    expect(decodeManifest(manifest ?? Buffer.of())).toEqual({ ...event?.manifest, eventId: event?.id })
    expect((await worker.ledger.find(record.id, NEVER))?.state).toEqual(outcome)
    expect((await worker.queue.consume('react_pdf', NEVER)).poll('async')).toBeUndefined()
  })

  test.for<[string, () => Error, string]>([
    [
      'template_error',
      () => new ServiceError('template_error', 'template.tsx:1:1: x is not defined'),
      'x is not defined',
    ],
    ['page_limit', () => new ServiceError('page_limit', 'too long'), 'too long'],
    ['internal', () => new TypeError('a defect at /srv/platen'), 'the service failed'],
  ])('that fails with %s is not tried again', async ([code, error, message]) => {
    const worker = await aWorker(() => Promise.reject(error()), [aRecord()])
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest.outcome).toMatchObject({
      status: 'failed',
      error: { code, message: expect.stringContaining(message) },
    })
    expect(worker.worked).toHaveLength(1)
  })

  test('whose PDF is not stored because of a defect fails as internal', async () => {
    const worker = await aWorker(async () => PDF, [aRecord()])
    worker.artifacts.put = () => Promise.reject(new TypeError('a defect'))
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest.outcome).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    expect(worker.worked).toHaveLength(1)
  })

  test('that crashes its renderer is tried three times, and becomes a dead letter', async () => {
    const record = aRecord()
    const worker = await aWorker(() => Promise.reject(new ServiceError('render_crashed', 'thread died')), [record])
    const [event] = await eventsOf(worker, 1)
    expect(worker.queue.dead).toStrictEqual([{ record, reason: 'render_crashed' }])
    expect(event?.manifest).toMatchObject({ attempt: 3, outcome: { error: { code: 'render_crashed' } } })
    expect(worker.worked).toHaveLength(3)
  })

  test.for<[string, () => Promise<Uint8Array>, object]>([
    ['succeeded', async () => PDF, { durationMs: 0, bytes: PDF.byteLength }],
    ['failed', () => Promise.reject(new ServiceError('template_error', 'no value')), { code: 'template_error' }],
  ])('that %s is logged once, with what it was and how long it waited', async ([status, script, ending]) => {
    const record = aRecord({ mode: 'async', lane: 'bulk', requestId: 'order 66' })
    const worker = await aWorker(script, [{ ...record, acceptedAt: record.acceptedAt - 4000 }])
    await eventsOf(worker, 1)
    const { id: render, tenant, environment, engine, template } = record
    const of = { render, tenant, environment, engine, template: template.code, mode: 'async', lane: 'bulk' }
    const lines = worker.lines.filter(({ message }) => message === `render ${status}`)
    expect(lines).toMatchObject([
      { level: 'info', fields: { ...of, requestId: 'order 66', attempt: 1, queueWaitMs: 4000, ...ending } },
    ])
  })

  test('that crashes its renderer once succeeds at the second attempt', async () => {
    const worker = await aWorker(async () => {
      if (worker.worked.length === 1) throw new ServiceError('render_crashed', 'thread died')
      return PDF
    }, [aRecord()])
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest).toMatchObject({ attempt: 2, outcome: { status: 'succeeded' } })
  })

  test('that outlasts its deadline is ended by it', async () => {
    const worker = await aWorker(
      async (_work, signal) => {
        const aborted = untilAborted(signal)
        void worker.clock.advance(24_999).then(() => {
          expect(signal.aborted).toBe(false)
          return worker.clock.advance(1)
        })
        return await aborted
      },
      [aRecord()],
    )
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest.outcome).toMatchObject({
      durationMs: 25_000,
      error: { code: 'render_timeout', message: expect.stringContaining('25 seconds') },
    })
  })

  test('that waited more than a day expires without being rendered', async () => {
    const worker = await aWorker(async () => PDF, [aRecord({ acceptedAt: NOON - QUEUE_AGE_MS_MAX - 1 })])
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest.outcome).toMatchObject({ error: { code: 'expired' } })
    expect(worker.worked).toHaveLength(0)
  })

  test.for(['async', 'sync'] as const)(
    'of the lane %s whose tenant was suspended while it waited is not rendered',
    async (lane) => {
      const record = aRecord({ lane })
      const worker = await aWorker(async () => PDF, [record])
      using pending = worker.replies.expect(record.id)
      await suspend(worker, { id: record.tenant, account: record.account })
      const [event] = await eventsOf(worker, 1)
      expect(event?.manifest).toMatchObject({ attempt: 1, outcome: { error: { code: 'tenant_suspended' } } })
      expect(worker.worked).toHaveLength(0)
      expect(await usageOf(worker, record)).toEqual({ charged: 0, reserved: 0 })
      if (lane === 'sync') expect(await pending.reply(NEVER)).toMatchObject({ error: { code: 'tenant_suspended' } })
    },
  )

  test('is rendered where the suspended tenant is another one of the same name', async () => {
    const record = aRecord()
    const worker = await aWorker(async () => PDF, [record])
    await suspend(worker, { id: record.tenant, account: 'anew' })
    const [event] = await eventsOf(worker, 1)
    expect(event?.type).toBe('render.succeeded')
  })

  test('whose renderer died between manifest and event gets its event, and is not rendered again', async () => {
    const record = aRecord()
    const manifest = aManifest({ record })
    const worker = await aWorker(async () => PDF, [record])
    await worker.ledger.claim(record, { owner: 'dead', leaseMs: 0 }, NEVER)
    await worker.artifacts.create(inBucket(manifestKey(record.id)), encodeManifest(manifest), NEVER)
    const [event] = await eventsOf(worker, 1)
    expect(event).toEqual(anEvent(manifest))
    expect(worker.worked).toHaveLength(0)
  })

  test('that was rendered twice keeps the first outcome and takes the second PDF away', async () => {
    const record = aRecord()
    const first = aManifest({ record, outcome: aFailure() })
    const worker = await aWorker(async () => {
      await worker.artifacts.create(inBucket(manifestKey(record.id)), encodeManifest(first), NEVER)
      return PDF
    }, [record])
    const [event] = await eventsOf(worker, 1)
    expect(event).toEqual(anEvent(first))
    expect(await Array.fromAsync(worker.artifacts.list('platen', 'acme/', NEVER))).toEqual([])
  })

  test('that the API abandoned has neither event nor PDF', async () => {
    const [abandoned, next] = [aRecord(), aRecord()]
    const worker = await aWorker(async () => PDF, [abandoned, next])
    const manifest = anAbandonedManifest(abandoned)
    await worker.artifacts.create(inBucket(manifestKey(abandoned.id)), encodeManifest(manifest), NEVER)
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest.render.id).toBe(next.id)
    expect((await worker.ledger.find(abandoned.id, NEVER))?.state).toEqual(manifest.outcome)
    expect(await Array.fromAsync(worker.artifacts.list('platen', `acme/${abandoned.id}/`, NEVER))).toEqual([])
  })

  test('that was erased while it waited is not rendered, charged or reported, and leaves nothing', async () => {
    const [record, next] = [aRecord({ webhookUrl: 'https://hooks.example.com' }), aRecord()]
    const worker = await aWorker(async () => PDF, [record, next])
    const late = inBucket(pdfKey(record, 'killed'))
    const tombstone = tombstoneOf({ id: record.id, storage: { bucket: 'platen', prefix: '' } }, NOON)
    await worker.artifacts.put(late, PDF, NEVER)
    await worker.artifacts.put(inBucket(manifestKey(record.id)), encodeManifest(tombstone), NEVER)
    await worker.ledger.complete(tombstone, NEVER)
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest.render.id).toBe(next.id)
    expect(worker.worked).toEqual([next.id])
    expect(await worker.artifacts.has(late, NEVER)).toBe(false)
    expect((await worker.queue.consume('react_pdf', NEVER)).poll('async')).toBeUndefined()
  })

  test('that is erased while it runs writes no manifest, keeps no PDF, costs nothing and is told to nobody', async () => {
    const [record, next] = [aRecord({ webhookUrl: 'https://hooks.example.com' }), aRecord({ account: 'other' })]
    const tombstone = tombstoneOf({ id: record.id, storage: { bucket: 'platen', prefix: '' } }, NOON)
    const worker = await aWorker(
      async ({ render }) => {
        if (render === record.id)
          await worker.artifacts.put(inBucket(manifestKey(record.id)), encodeManifest(tombstone), NEVER)
        return PDF
      },
      [record, next],
    )
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest.render.id).toBe(next.id)
    const manifest = await worker.artifacts.get(inBucket(manifestKey(record.id)), NEVER)
    expect(decodeManifest(manifest ?? Buffer.of())).toEqual(tombstone)
    expect(await Array.fromAsync(worker.artifacts.list('platen', `acme/${record.id}/`, NEVER))).toEqual([])
    expect(await usageOf(worker, record)).toEqual({ charged: 0, reserved: 0 })
    expect((await worker.ledger.find(record.id, NEVER))?.state).toEqual(tombstone.outcome)
  })

  test('with data too large for its record is given that data, which is removed afterwards', async () => {
    const stored = inBucket('acme/one/input')
    const given: string[] = []
    const script: Script = async ({ data }) => {
      given.push(Buffer.from(data).toString())
      return PDF
    }
    const worker = await aWorker(script, [aRecord({ data: { stored } })])
    await worker.artifacts.put(stored, Buffer.from('{"number":"2026-7"}'), NEVER)
    await eventsOf(worker, 1)
    expect(given).toEqual(['{"number":"2026-7"}'])
    expect(await worker.artifacts.has(stored, NEVER)).toBe(false)
  })

  test('whose store is away for a while is stored later and rendered once', async () => {
    const worker = await aWorker(async () => PDF, [aRecord()])
    const put = worker.artifacts.put.bind(worker.artifacts)
    let refusals = 3
    worker.artifacts.put = async (...request) => {
      if (refusals-- <= 0) return await put(...request)
      setImmediate(() => void worker.clock.advance(30_000))
      throw new Unavailable('disk full')
    }
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest).toMatchObject({ attempt: 1, outcome: { status: 'succeeded' } })
    expect(worker.worked).toHaveLength(1)
  })
})

test('an engine that is not ready costs a render no attempt, however often it crashes', async () => {
  const record = aRecord()
  const seen: unknown[] = []
  const ready = async () => void seen.push((await worker.ledger.find(record.id, NEVER))?.state)
  const script: Script = async () => {
    if (worker.worked.length === 1) throw new ServiceError('render_crashed', 'the browser ended')
    return PDF
  }
  const worker = await aWorker(script, [record], { ready })
  await eventsOf(worker, 1)
  expect(seen).toEqual([undefined, { status: 'running', attempt: 1 }])
})

describe('the quota of a render', () => {
  test('is held from its claim on, and charged when it has succeeded', async () => {
    const record = aRecord({ units: 5 })
    const during: Usage[] = []
    const worker = await aWorker(async () => {
      await worker.clock.advance(RESERVATION_MS * 2)
      during.push(await usageOf(worker, record))
      return PDF
    }, [record])
    await eventsOf(worker, 1)
    expect(during).toEqual([{ charged: 0, reserved: 5 }])
    expect(await usageOf(worker, record)).toEqual({ charged: 5, reserved: 0 })
  })

  test('is free again when it has failed', async () => {
    const record = aRecord()
    const worker = await aWorker(() => Promise.reject(new ServiceError('template_error', 'x')), [record])
    await eventsOf(worker, 1)
    expect(await usageOf(worker, record)).toEqual({ charged: 0, reserved: 0 })
  })

  test('is charged once, though the render was delivered again after its end', async () => {
    const record = aRecord()
    const worker = await aWorker(async () => PDF, [record])
    await worker.limiter.complete(aManifest({ record }), NEVER)
    await worker.artifacts.create(inBucket(manifestKey(record.id)), encodeManifest(aManifest({ record })), NEVER)
    await worker.ledger.complete(aManifest({ record }), NEVER)
    await eventsOf(worker, 1)
    expect(await usageOf(worker, record)).toEqual({ charged: 1, reserved: 0 })
  })

  test('is charged before the render leaves the queue, however long the limiter is away', async () => {
    const record = aRecord()
    const worker = await aWorker(async () => PDF, [record])
    const settle = worker.limiter.complete.bind(worker.limiter)
    let refusals = 3
    worker.limiter.complete = async (...request) => {
      if (refusals-- <= 0) return await settle(...request)
      setImmediate(() => void worker.clock.advance(30_000))
      throw new Unavailable('no answer')
    }
    const running = worker.run()
    await using consumer = await worker.queue.consume('react_pdf', NEVER)
    while ((await usageOf(worker, record)).charged === 0) {
      expect(consumer.poll('async')).toBeUndefined()
      await new Promise((resolve) => setImmediate(resolve))
    }
    worker.stop()
    await running
    expect(refusals).toBe(-1)
    expect(worker.worked).toHaveLength(1)
  })
})

describe('a sync render', () => {
  const record = () => aRecord({ lane: 'sync', mode: 'sync' })

  test('is answered before anything is stored', async () => {
    const sync = record()
    const worker = await aWorker(async () => PDF, [sync])
    using pending = worker.replies.expect(sync.id)
    const order: string[] = []
    const put = worker.artifacts.put.bind(worker.artifacts)
    worker.artifacts.put = async (...request) => {
      order.push('stored')
      return await put(...request)
    }
    const answer = worker.replies.reply.bind(worker.replies)
    worker.replies.reply = async (...request) => {
      await answer(...request)
      order.push('answered')
    }
    await eventsOf(worker, 1)
    const expected = { kind: 'rendered', pdf: [PDF], sha256: sha256(PDF), durationMs: 0, pages: 1, warnings: 0 }
    expect(await pending.reply(NEVER)).toEqual(expected)
    expect(order).toEqual(['answered', 'stored'])
  })

  test('whose reply cannot be handed over is stored and reported', async () => {
    const sync = record()
    const worker = await aWorker(async () => PDF, [sync])
    worker.replies.reply = () => Promise.reject(new Unavailable('no answer'))
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest).toMatchObject({ attempt: 1, outcome: { status: 'succeeded' } })
    expect(worker.worked).toHaveLength(1)
  })

  test('is canceled when its caller goes', async () => {
    const sync = record()
    const pending: Disposable[] = []
    const worker = await aWorker(
      async (_work, signal) => {
        for (const each of pending) each[Symbol.dispose]()
        return await untilAborted(signal)
      },
      [sync],
    )
    pending.push(worker.replies.expect(sync.id))
    const [event] = await eventsOf(worker, 1)
    expect(event?.manifest.outcome).toMatchObject({ status: 'failed', error: { code: 'canceled' } })
  })
})

test('a stopping worker ends the render it has begun and leaves the next to others', async () => {
  const [first, second] = [aRecord(), aRecord()]
  const worker = await aWorker(async () => {
    worker.stop()
    return PDF
  }, [first, second])
  await worker.run()
  expect((await worker.ledger.find(first.id, NEVER))?.state.status).toBe('succeeded')
  expect((await worker.queue.consume('react_pdf', NEVER)).poll('async')?.record.id).toBe(second.id)
})
