/** The promises of every render queue. The doc comments of the port describe them. */

import { LANES, type Lane, type RenderRecord } from '@platen/contract/domain/render.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import type { QueuedRender, RenderConsumer, RenderQueue } from '@platen/contract/port/render-queue.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aRecord } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import type { Harness } from './harness.ts'

/** More than a consumer prefetches. */
const MANY = 60

export function describeRenderQueue(name: string, makeHarness: () => Promise<Harness<RenderQueue>>): void {
  describe(`render queue: ${name}`, () => {
    let harness: Harness<RenderQueue>
    let queue: RenderQueue
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      queue = await harness.open()
    })

    test('gives out a record as it was put in', async ({ signal }) => {
      const record = aRecord({
        data: { inline: { text: 'Zażółć "Ελληνικά" \u0000 \u2028 🧾', deep: [{ amount: 0.1 }, null, true] } },
        options: { page_size: { width: 300, height: 400 }, margin: { top: '12mm' }, filename: 'März.pdf' },
        webhookUrl: 'https://example.com/hook?x=1',
      })
      await using consumer = await queue.consume('react_pdf', signal)
      await queue.enqueue(record, signal)
      expect(await take(consumer, signal).then(recordsOf)).toStrictEqual([record])
    })

    test.for(LANES)('keeps the order of the %s lane', async (lane, { signal }) => {
      const records = await enqueueAll(queue, some(MANY, { lane }), signal)
      await using consumer = await queue.consume('react_pdf', signal)
      expect(await take(consumer, signal, { lane, count: MANY }).then(idsOf)).toStrictEqual(idsOf(records))
    })

    test('keeps the order of records that come while others are taken', async ({ signal }) => {
      await using consumer = await queue.consume('react_pdf', signal)
      const taken: QueuedRender[] = []
      const records: RenderRecord[] = []
      for (let round = 0; round < 8; round++) {
        records.push(...(await enqueueAll(queue, some(9), signal)))
        taken.push(...(await take(consumer, signal, { count: 7 })))
      }
      taken.push(...(await take(consumer, signal, { count: 16 })))
      expect(idsOf(taken)).toStrictEqual(idsOf(records))
    })

    test('gives each of many records that are put in at once to one taker', async ({ signal }) => {
      await using one = await queue.consume('react_pdf', signal)
      await using two = await queue.consume('react_pdf', signal)
      const records = some(MANY)
      await Promise.all(records.map((record) => queue.enqueue(record, signal)))
      const taken: QueuedRender[] = []
      while (taken.length < MANY) {
        const next = [one.poll('async'), two.poll('async')].filter((delivery) => delivery !== undefined)
        taken.push(...next)
        if (next.length === 0) await Promise.race([one.waitForRecord(signal), two.waitForRecord(signal)])
      }
      expect(idsOf(taken).sort()).toStrictEqual(idsOf(records).sort())
      expect([one.poll('async'), two.poll('async')]).toStrictEqual([undefined, undefined])
    })

    test('keeps engines and lanes apart', async ({ signal }) => {
      const places = ENGINES.flatMap((engine) => LANES.map((lane) => ({ engine, lane })))
      for (const place of places) await queue.enqueue(aRecord(place), signal)
      for (const { engine, lane } of places) {
        await using consumer = await queue.consume(engine, signal)
        const [delivery] = await take(consumer, signal, { lane })
        expect(delivery?.record).toMatchObject({ engine, lane })
        expect(consumer.poll(lane)).toBeUndefined()
      }
    })

    test('serves a lane at once that stands beside a full one', async ({ signal }) => {
      await enqueueAll(queue, some(MANY, { lane: 'bulk' }), signal)
      await using consumer = await queue.consume('react_pdf', signal)
      const record = aRecord({ lane: 'sync' })
      await queue.enqueue(record, signal)
      expect(await take(consumer, signal, { lane: 'sync' }).then(idsOf)).toStrictEqual([record.id])
    })

    test('wakes a consumer that waits', async ({ signal }) => {
      await using consumer = await queue.consume('react_pdf', signal)
      const taking = take(consumer, signal)
      const record = aRecord()
      await queue.enqueue(record, signal)
      expect(await taking.then(idsOf)).toStrictEqual([record.id])
    })

    test('loses no wake-up between a poll and the wait that follows', async ({ signal }) => {
      await using consumer = await queue.consume('react_pdf', signal)
      for (let round = 0; round < MANY; round++) {
        expect(consumer.poll('async')).toBeUndefined()
        await queue.enqueue(aRecord(), signal)
        await take(consumer, signal)
      }
    })

    test('loses no wake-up to a wait that was walked away from', async ({ signal }) => {
      await using consumer = await queue.consume('react_pdf', signal)
      for (let round = 0; round < MANY; round++) {
        const abandoned = consumer.waitForRecord(signal)
        const taking = take(consumer, signal)
        await queue.enqueue(aRecord(), signal)
        await taking
        await abandoned
      }
    })

    test('stops waiting with the reason of the signal', async ({ signal }) => {
      await using consumer = await queue.consume('react_pdf', signal)
      const stop = new AbortController()
      const taking = take(consumer, AbortSignal.any([signal, stop.signal]))
      const reason = new Error('enough')
      stop.abort(reason)
      await expect(taking).rejects.toBe(reason)
    })

    test('appends nothing for a caller that has gone already', async ({ signal }) => {
      const reason = new Error('gone')
      await expect(queue.enqueue(aRecord(), AbortSignal.abort(reason))).rejects.toBe(reason)
      const record = aRecord()
      await queue.enqueue(record, signal)
      await using consumer = await queue.consume('react_pdf', signal)
      expect(await take(consumer, signal).then(idsOf)).toStrictEqual([record.id])
    })

    test('gives out a record whose caller stops waiting while it is appended, or drops it, but blocks nothing', async ({
      signal,
    }) => {
      await using consumer = await queue.consume('react_pdf', signal)
      const stop = new AbortController()
      const first = aRecord()
      const appending = queue.enqueue(first, stop.signal)
      stop.abort(new Error('gone'))
      await appending.catch(() => undefined)
      const second = aRecord()
      await queue.enqueue(second, signal)
      const ids = []
      while (ids.at(-1) !== second.id) ids.push(...idsOf(await take(consumer, signal)))
      expect([[first.id, second.id], [second.id]]).toContainEqual(ids)
    })

    test('takes a record out for good when it is done, and twice is fine', async ({ signal }) => {
      await enqueueAll(queue, some(2), signal)
      const first = await queue.consume('react_pdf', signal)
      const [done, left] = await take(first, signal, { count: 2 })
      await done?.done(signal)
      await done?.done(signal)
      await first[Symbol.asyncDispose]()
      await using second = await queue.consume('react_pdf', signal)
      expect(await take(second, signal).then(idsOf)).toStrictEqual([left?.record.id])
      expect(second.poll('async')).toBeUndefined()
    })

    test('removes a record for good when it is dead-lettered, and twice is fine', async ({ signal }) => {
      await enqueueAll(queue, some(2), signal)
      const first = await queue.consume('react_pdf', signal)
      const [poison, left] = await take(first, signal, { count: 2 })
      await poison?.deadLetter('render_crashed', signal)
      await poison?.deadLetter('render_crashed', signal)
      await first[Symbol.asyncDispose]()
      await using second = await queue.consume('react_pdf', signal)
      expect(await take(second, signal).then(idsOf)).toStrictEqual([left?.record.id])
      expect(second.poll('async')).toBeUndefined()
    })

    test('gives a closed consumer’s records to the next, in their old order and before newer ones', async ({
      signal,
    }) => {
      const records = await enqueueAll(queue, some(5), signal)
      const first = await queue.consume('react_pdf', signal)
      await take(first, signal, { count: 3 })
      await first[Symbol.asyncDispose]()
      expect(first.poll('async')).toBeUndefined()
      await using second = await queue.consume('react_pdf', signal)
      expect(await take(second, signal, { count: 5 }).then(idsOf)).toStrictEqual(idsOf(records))
    })

    test('wakes the others when a consumer closes', async ({ signal }) => {
      await enqueueAll(queue, some(1), signal)
      const first = await queue.consume('react_pdf', signal)
      await take(first, signal)
      await using second = await queue.consume('react_pdf', signal)
      const taking = take(second, signal)
      await first[Symbol.asyncDispose]()
      expect(await taking).toHaveLength(1)
    })

    test('believes a done that comes after its consumer has closed', async ({ signal }) => {
      const [, left] = await enqueueAll(queue, some(2), signal)
      const first = await queue.consume('react_pdf', signal)
      const [late] = await take(first, signal)
      await first[Symbol.asyncDispose]()
      await late?.done(signal)
      await using second = await queue.consume('react_pdf', signal)
      expect(await take(second, signal).then(idsOf)).toStrictEqual([left?.id])
    })
  })

  describeDurability(name, makeHarness)
}

function describeDurability(name: string, makeHarness: () => Promise<Harness<RenderQueue>>): void {
  test(`render queue: ${name} delivers again after a restart what was not done, and nothing that was`, async ({
    signal,
    skip,
  }) => {
    await using harness = await makeHarness()
    if (harness.reopen === undefined) return skip('nothing in it is durable')
    const before = await harness.open()
    const records = await enqueueAll(before, some(MANY), signal)
    const consumer = await before.consume('react_pdf', signal)
    for (const [i, delivery] of (await take(consumer, signal, { count: MANY / 2 })).entries()) {
      if (i % 2 === 0) await delivery.done(signal)
    }
    const after = await harness.reopen()
    const later = await enqueueAll(after, some(3), signal)
    await using again = await after.consume('react_pdf', signal)
    const left = harness.isPositional ? records.slice(1) : records.filter((_, i) => i >= MANY / 2 || i % 2 === 1)
    const taken = await take(again, signal, { count: left.length + 3 })
    expect(idsOf(taken)).toStrictEqual(idsOf([...left, ...later]))
    expect(again.poll('async')).toBeUndefined()
  })
}

function some(count: number, fields: Partial<RenderRecord> = {}): RenderRecord[] {
  return Array.from({ length: count }, () => aRecord(fields))
}

async function enqueueAll<Records extends readonly RenderRecord[]>(
  queue: RenderQueue,
  records: Records,
  signal: AbortSignal,
): Promise<Records> {
  for (const record of records) await queue.enqueue(record, signal)
  return records
}

async function take(
  consumer: RenderConsumer,
  signal: AbortSignal,
  { lane = 'async', count = 1 }: { lane?: Lane; count?: number } = {},
): Promise<QueuedRender[]> {
  const taken: QueuedRender[] = []
  while (taken.length < count) {
    const delivery = consumer.poll(lane)
    if (delivery === undefined) await consumer.waitForRecord(signal)
    else taken.push(delivery)
  }
  return taken
}

function recordsOf(deliveries: readonly QueuedRender[]): RenderRecord[] {
  return deliveries.map(({ record }) => record)
}

function idsOf(items: readonly (QueuedRender | RenderRecord)[]): string[] {
  return items.map((item) => ('record' in item ? item.record.id : item.id))
}
