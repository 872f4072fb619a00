/** The promises of every event log. The doc comments of the port describe them. */
import type { EventLog, ReceivedEvent } from '@platen/contract/port/event-log.ts'
import { EXPIRY_RENDERS_MAX } from '@platen/events/retention/limit.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aFailure, aManifest, anEvent } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { all, type Harness } from './harness.ts'

/** More than a reader fetches at once. */
const MANY = 150

export function describeEventLog(name: string, makeHarness: () => Promise<Harness<EventLog>>): void {
  describe(`event log: ${name}`, () => {
    let harness: Harness<EventLog>
    let log: EventLog
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      log = await harness.open()
    })

    test('gives out an event as it was appended', async ({ signal }) => {
      const events = [anEvent(), anEvent(aManifest({ outcome: aFailure(), attempt: 3 }))]
      for (const event of events) await log.append(event, signal)
      expect((await read(log, signal, { count: 2 })).map(({ event }) => event)).toStrictEqual(events)
    })

    test('gives events in the order they were appended, those to come too', async ({ signal }) => {
      const earlier = await append(log, MANY, signal)
      const reading = read(log, signal, { count: MANY + 5 })
      const later = await append(log, 5, signal)
      expect(idsOf(await reading)).toStrictEqual([...earlier, ...later])
    })

    test('loses no event that is appended while a reader looks', async ({ signal }) => {
      const stop = new AbortController()
      const events = log.follow('webhooks', AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]()
      for (let round = 0; round < 40; round++) {
        const next = events.next()
        const [id] = await append(log, 1, signal)
        expect((await next).value?.event.id).toBe(id)
      }
      stop.abort()
      expect((await events.next()).done).toBe(true)
    })

    test('gives an event at least once that was appended twice, and the next after it', async ({ signal }) => {
      const event = anEvent()
      await log.append(event, signal)
      await log.append(event, signal)
      const [last] = await append(log, 1, signal)
      const ids: string[] = []
      for await (const delivery of log.follow('webhooks', signal)) {
        ids.push(delivery.event.id)
        if (delivery.event.id === last) break
      }
      expect([...new Set(ids)]).toStrictEqual([event.id, last])
    })

    test('gives each reader all events', async ({ signal }) => {
      const ids = await append(log, 3, signal)
      for (const delivery of await read(log, signal, { count: 3, reader: 'quota' })) await delivery.done()
      expect(idsOf(await read(log, signal, { count: 3, reader: 'webhooks' }))).toStrictEqual(ids)
    })

    test('goes on after what was done, and gives again what was not', async ({ signal }) => {
      const ids = await append(log, MANY, signal)
      const [first, second] = await read(log, signal, { count: 10 })
      await second?.done()
      await first?.done()
      await second?.done()
      expect(idsOf(await read(log, signal, { count: MANY - 2 }))).toStrictEqual(ids.slice(2))
    })

    test('gives a reader as many events as it gathers before it acknowledges any', async ({ signal }) => {
      const ids = await append(log, EXPIRY_RENDERS_MAX, signal)
      expect(idsOf(await read(log, signal, { count: EXPIRY_RENDERS_MAX }))).toStrictEqual(ids)
    })

    test('acknowledges all events before an event together with it', async ({ signal }) => {
      const ids = await append(log, 6, signal)
      await (await read(log, signal, { count: 5 }))[4]?.done()
      expect(idsOf(await read(log, signal, { count: 1 }))).toStrictEqual(ids.slice(5))
    })

    test('ends the iteration when the signal aborts, waiting or not', async ({ signal }) => {
      expect(await all(log.follow('webhooks', AbortSignal.abort()))).toStrictEqual([])
      const stop = new AbortController()
      const waiting = all(log.follow('webhooks', AbortSignal.any([signal, stop.signal])))
      await append(log, 1, signal)
      stop.abort()
      expect((await waiting).length).toBeLessThanOrEqual(1)
    })

    test('appends nothing for a caller that has gone already', async ({ signal }) => {
      const reason = new Error('gone')
      await expect(log.append(anEvent(), AbortSignal.abort(reason))).rejects.toBe(reason)
      const ids = await append(log, 1, signal)
      expect(idsOf(await read(log, signal, { count: 1 }))).toStrictEqual(ids)
    })

    test('keeps events and how far each reader is over a restart', async ({ signal, skip }) => {
      if (harness.reopen === undefined) return skip('nothing in it is durable')
      const earlier = await append(log, 5, signal)
      await (await read(log, signal, { count: 3 }))[2]?.done()
      const again = await harness.reopen()
      const later = await append(again, 2, signal)
      expect(idsOf(await read(again, signal, { count: 4 }))).toStrictEqual([...earlier.slice(3), ...later])
      expect(idsOf(await read(again, signal, { count: 7, reader: 'quota' }))).toStrictEqual([...earlier, ...later])
    })
  })
}

async function append(log: EventLog, count: number, signal: AbortSignal): Promise<string[]> {
  const events = Array.from({ length: count }, () => anEvent())
  for (const event of events) await log.append(event, signal)
  return events.map(({ id }) => id)
}

async function read(
  log: EventLog,
  signal: AbortSignal,
  { count, reader = 'webhooks' }: { count: number; reader?: string },
): Promise<ReceivedEvent[]> {
  const deliveries: ReceivedEvent[] = []
  for await (const delivery of log.follow(reader, signal)) {
    deliveries.push(delivery)
    if (deliveries.length === count) break
  }
  return deliveries
}

function idsOf(deliveries: readonly ReceivedEvent[]): string[] {
  return deliveries.map(({ event }) => event.id)
}
