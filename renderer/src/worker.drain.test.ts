/** A worker that drains, and renders that other workers hold. */
import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { encodeManifest, manifestKey } from '@platen/contract/domain/render.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { aManifest, anEvent, aRecord, NEVER } from '../../test/fixture/build.ts'
import {
  anEngine,
  aWorker,
  inBucket,
  type Script,
  untilAborted,
  WORKER_SETTINGS,
} from '../../test/fixture/render/work.ts'
import { CLAIM_LEASE_MS, HELD_POLL_MS_MAX } from './worker/limit.ts'
import { runWorker } from './worker.ts'

const PDF = Buffer.from('%PDF-1.7 a document')
const OTHER = { owner: 'other', leaseMs: CLAIM_LEASE_MS }

/** Renders until its signal aborts. */
const endless: Script = (_work, signal) => untilAborted(signal)

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate()
}

/** A call of a port that cannot be reached, and a promise of its first try. */
function unavailable() {
  const { promise: tried, resolve } = Promise.withResolvers<void>()
  const call = async (): Promise<never> => {
    resolve()
    throw new Unavailable('no answer')
  }
  return { tried, call }
}

describe('a worker that stops', () => {
  test('gives what it has not begun to others at once, and ends what it has', async () => {
    const [first, second] = [aRecord(), aRecord()]
    const over = Promise.withResolvers<Uint8Array>()
    const worker = await aWorker(() => over.promise, [first, second])
    const running = worker.run()
    await worker.begun
    worker.stop()
    await turns()
    await using others = await worker.queue.consume('react_pdf', NEVER)
    // This includes the running render, which its claim protects.
    const given = [others.poll('async'), others.poll('async')].map((delivery) => delivery?.record.id)
    expect(given).toEqual([first.id, second.id])
    expect(await worker.ledger.claim(first, OTHER, NEVER)).toMatchObject({ kind: 'held' })
    over.resolve(PDF)
    await running
    expect((await worker.ledger.find(first.id, NEVER))?.state.status).toBe('succeeded')
    expect(worker.worked).toEqual([first.id])
  })

  test.for(['async', 'sync'] as const)(
    'leaves an %s render that outlasts the drain, unanswered, and another begins it at once',
    async (lane) => {
      const record = aRecord({ lane })
      const worker = await aWorker(endless, [record])
      using caller = worker.replies.expect(record.id)
      const replies: unknown[] = []
      void caller.reply(NEVER).then((reply) => replies.push(reply))
      const running = worker.run()
      await worker.begun
      worker.stop()
      worker.leave()
      await running
      expect(replies).toEqual([])
      expect(await worker.artifacts.has(inBucket(manifestKey(record.id)), NEVER)).toBe(false)
      expect(await worker.ledger.claim(record, OTHER, NEVER)).toMatchObject({ kind: 'granted' })
      await using others = await worker.queue.consume('react_pdf', NEVER)
      expect(others.poll(lane)?.record.id).toBe(record.id)
      expect(worker.lines).toMatchObject([{ message: 'render handed over' }])
    },
  )

  test('counts no attempt for a render it leaves', async () => {
    const record = aRecord()
    const owners = ['a', 'b', 'c', 'd']
    const worker = await aWorker(endless, [record])
    for (const owner of owners) {
      const claim = await worker.ledger.claim(record, { owner, leaseMs: CLAIM_LEASE_MS }, NEVER)
      if (claim.kind === 'granted') await worker.ledger.release(claim.claim, owner, NEVER)
    }
    const running = worker.run()
    await worker.begun
    worker.leave()
    await running
    expect(await worker.ledger.claim(record, OTHER, NEVER)).toMatchObject({ claim: { attempt: owners.length + 2 } })
  })

  test('does not begin again what has just crashed, and leaves it free', async () => {
    const record = aRecord()
    const worker = await aWorker(async () => {
      worker.stop()
      throw new ServiceError('render_crashed', 'thread died')
    }, [record])
    await worker.run()
    expect(worker.worked).toEqual([record.id])
    expect(await worker.ledger.claim(record, OTHER, NEVER)).toMatchObject({ kind: 'granted' })
  })

  test.for(['put', 'create'] as const)('does not wait for a store whose %s cannot be reached', async (step) => {
    const record = aRecord()
    const worker = await aWorker(async () => PDF, [record])
    const { tried, call } = unavailable()
    worker.artifacts[step] = call
    const running = worker.run()
    await tried
    await turns()
    worker.stop()
    worker.leave()
    await running
    expect(await worker.ledger.claim(record, OTHER, NEVER)).toMatchObject({ kind: 'granted' })
  })

  test('ends at once where the event log is away, and another publishes what it has rendered', async () => {
    const record = aRecord()
    const worker = await aWorker(async () => PDF, [record])
    const events = { ...worker.events }
    const { tried, call } = unavailable()
    worker.events.append = call
    const running = worker.run()
    await tried
    await turns()
    worker.stop()
    await running
    expect(worker.lines.map(({ message }) => message)).toEqual([
      'dependency call failed, retrying',
      'render handed over',
    ])
    const [over, engine] = [new AbortController(), anEngine(() => expect.fail('it is rendered again'))]
    const options = { settings: { ...WORKER_SETTINGS, owner: 'other' }, signal: over.signal, forceStop: NEVER }
    const next = runWorker({ ...worker, events }, engine, options)
    for await (const { event } of worker.events.follow('test', NEVER)) {
      expect(event.manifest).toMatchObject({ attempt: 1, render: { id: record.id }, outcome: { status: 'succeeded' } })
      break
    }
    over.abort()
    await next
  })

  test('does not wait for an event log that does not answer', async () => {
    const record = aRecord()
    const worker = await aWorker(async () => PDF, [record])
    const asked = Promise.withResolvers<void>()
    worker.events.append = (_event, signal) => {
      asked.resolve()
      return untilAborted(signal)
    }
    const running = worker.run()
    await asked.promise
    worker.stop()
    worker.leave()
    await running
    expect(worker.lines).toMatchObject([{ message: 'render handed over' }])
  })
})

describe('a render that another renderer holds', () => {
  test('keeps no slot from the next', async () => {
    const [held, next] = [aRecord(), aRecord()]
    const worker = await aWorker(async () => PDF, [held, next])
    await worker.ledger.claim(held, OTHER, NEVER)
    const running = worker.run()
    await worker.begun
    expect(worker.worked).toEqual([next.id])
    worker.stop()
    await running
    await using others = await worker.queue.consume('react_pdf', NEVER)
    expect(others.poll('async')?.record.id).toBe(held.id)
  })

  test('is rendered soon after it was given back, and not only when its claim would have lapsed', async () => {
    const record = aRecord()
    const worker = await aWorker(async () => PDF, [record])
    const answer = await worker.ledger.claim(record, OTHER, NEVER)
    const running = worker.run()
    await turns()
    await worker.clock.advance(HELD_POLL_MS_MAX)
    expect(worker.worked).toEqual([])
    if (answer.kind === 'granted') await worker.ledger.release(answer.claim, OTHER.owner, NEVER)
    await worker.clock.advance(HELD_POLL_MS_MAX)
    await worker.begun
    worker.stop()
    await running
    expect((await worker.ledger.find(record.id, NEVER))?.state.status).toBe('succeeded')
  })

  test('is reported once more and acknowledged when that renderer has ended it', async () => {
    const record = aRecord()
    const manifest = aManifest({ record })
    const worker = await aWorker(async () => PDF, [record])
    await worker.ledger.claim(record, OTHER, NEVER)
    const running = worker.run()
    await turns()
    await worker.artifacts.create(inBucket(manifestKey(record.id)), encodeManifest(manifest), NEVER)
    await worker.ledger.complete(manifest, NEVER)
    await worker.clock.advance(HELD_POLL_MS_MAX)
    for await (const { event } of worker.events.follow('test', NEVER)) {
      expect(event).toEqual(anEvent(manifest))
      break
    }
    await turns()
    worker.stop()
    await running
    expect(worker.worked).toEqual([])
    await using others = await worker.queue.consume('react_pdf', NEVER)
    expect(others.poll('async')).toBeUndefined()
  })
})
