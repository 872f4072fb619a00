/** The promises of every delivery log. The doc comments of the port describe them. */
import { setImmediate } from 'node:timers/promises'
import type { Attempt, Delivery } from '@platen/contract/domain/delivery.ts'
import { WEBHOOK_ATTEMPTS_KEPT_MAX, WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/domain/limit.ts'
import type { DeliveryLog, DueDelivery } from '@platen/contract/port/delivery-log.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { assert, beforeEach, describe, expect, test } from 'vitest'
import { aDelivery, NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'
import { all, type Harness } from './harness.ts'

export const FAILED: Attempt = {
  startedAt: NOON,
  durationMs: 12,
  result: 'status',
  statusCode: 503,
  excerpt: 'over\u2028loaded',
}
export const OK: Attempt = { startedAt: NOON, durationMs: 3, result: 'ok', statusCode: 204 }

/** More than a consumer fetches at once. */
const MANY = 600

export function describeDeliveryLog(name: string, makeHarness: (clock: Clock) => Promise<Harness<DeliveryLog>>): void {
  describe(`delivery log: ${name}`, () => {
    let clock: ManualClock
    let harness: Harness<DeliveryLog>
    let log: DeliveryLog
    beforeEach(async () => {
      clock = manualClock(NOON)
      harness = ofTest(await makeHarness(clock))
      log = await harness.open()
    })

    test('gives a delivery as it was scheduled, at once', async ({ signal }) => {
      const delivery = aDelivery({ body: '{"ж":"\u2028"}' })
      await log.schedule([delivery], signal)
      const due = await take(log, signal)
      expect(due).toMatchObject({ delivery, attempts: 0, isRedelivery: false, dueAt: NOON })
    })

    test('leaves a delivery as it is that is scheduled again', async ({ signal }) => {
      const delivery = aDelivery()
      await log.schedule([delivery], signal)
      await (await take(log, signal)).record(OK, { status: 'delivered' })
      await log.schedule([{ ...delivery, body: 'another' }], signal)
      expect(await log.find(delivery.id, signal)).toMatchObject({ delivery, status: 'delivered' })
      await log.schedule([aDelivery({ id: 'b' })], signal)
      expect((await take(log, signal)).delivery.id).toBe('b')
    })

    test('gives many, each once, the earliest first', async ({ signal }) => {
      const early = await Promise.all(Array.from({ length: MANY }, () => scheduled(log, signal)))
      await clock.advance(1)
      const late = await scheduled(log, signal)
      const taken = (await takeMany(log, MANY + 1, signal)).map(({ delivery }) => delivery.id)
      expect(taken.slice(0, MANY).toSorted()).toStrictEqual(early.toSorted())
      expect(taken.at(-1)).toBe(late)
    })

    test('loses none that is scheduled while its consumer looks', async ({ signal }) => {
      const stop = new AbortController()
      const given = log.consume(AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]()
      for (let round = 0; round < 40; round++) {
        const next = nextOf(given)
        const id = await scheduled(log, signal)
        expect((await next)?.delivery.id).toBe(id)
      }
      stop.abort()
      expect((await given.next()).done).toBe(true)
    })

    test('gives one that failed again when it is due, and no earlier', async ({ signal }) => {
      await log.schedule([aDelivery({ id: 'a' })], signal)
      await (await take(log, signal)).record(FAILED, { status: 'scheduled', waitMs: 5000 })
      expect(await log.find('a', signal)).toMatchObject({ status: 'scheduled', dueAt: NOON + 5000, attempts: [FAILED] })
      const given = log.consume(signal)[Symbol.asyncIterator]()
      const next = nextOf(given)
      await scheduled(log, signal, 'b')
      expect((await next)?.delivery.id).toBe('b')
      await clock.advance(4999)
      const later = nextOf(given)
      await scheduled(log, signal, 'c')
      expect((await later)?.delivery.id).toBe('c')
      const again = nextOf(given)
      await untilArmed(clock)
      await clock.advance(1)
      expect(await again).toMatchObject({ attempts: 1, dueAt: NOON + 5000, delivery: { id: 'a' } })
    })

    test.for(['delivered', 'exhausted', 'gone', 'blocked'] as const)('ends one as %s', async (status, { signal }) => {
      const delivery = aDelivery({ id: 'a' })
      await log.schedule([delivery], signal)
      await (await take(log, signal)).record(FAILED, { status, reason: 'so it is' })
      const record = await log.find('a', signal)
      expect(record).toStrictEqual({ delivery, status, reason: 'so it is', attempts: [FAILED] })
      await scheduled(log, signal, 'b')
      expect((await take(log, signal)).delivery.id).toBe('b')
    })

    test('puts one off without an attempt, and says why', async ({ signal }) => {
      await log.schedule([aDelivery({ id: 'a' })], signal)
      await (await take(log, signal)).defer(1000, 'no secret')
      expect(await log.find('a', signal)).toMatchObject({ reason: 'no secret', dueAt: NOON + 1000, attempts: [] })
      const next = take(log, signal)
      await untilArmed(clock)
      await clock.advance(1000)
      const due = await next
      expect(due).toMatchObject({ attempts: 0, dueAt: NOON + 1000 })
      await due.record(FAILED, { status: 'scheduled', waitMs: 2000 })
      expect(await log.find('a', signal)).not.toHaveProperty('reason')
    })

    describe('asked to deliver again', () => {
      test('gives an ended one once for each time, and leaves it as it was where that fails', async ({ signal }) => {
        await log.schedule([aDelivery({ id: 'a' })], signal)
        await (await take(log, signal)).record(FAILED, { status: 'exhausted' })
        expect([await log.redeliver('a', signal), await log.redeliver('a', signal)]).toEqual([true, true])
        const first = await take(log, signal)
        expect(first).toMatchObject({ isRedelivery: true, attempts: 1 })
        await first.record(FAILED)
        expect(await log.find('a', signal)).toMatchObject({ status: 'exhausted', attempts: [FAILED, FAILED] })
        await (await take(log, signal)).record(OK, { status: 'delivered' })
        expect(await log.find('a', signal)).toMatchObject({ status: 'delivered', attempts: [FAILED, FAILED, OK] })
        await scheduled(log, signal, 'b')
        expect((await take(log, signal)).delivery.id).toBe('b')
      })

      test('gives a scheduled one at once, and then again when it is due', async ({ signal }) => {
        await log.schedule([aDelivery({ id: 'a' })], signal)
        await (await take(log, signal)).record(FAILED, { status: 'scheduled', waitMs: 5000 })
        await log.redeliver('a', signal)
        await (await take(log, signal)).record(FAILED)
        expect(await log.find('a', signal)).toMatchObject({ status: 'scheduled', dueAt: NOON + 5000 })
        const next = take(log, signal)
        await untilArmed(clock)
        await clock.advance(5000)
        expect(await next).toMatchObject({ isRedelivery: false, attempts: 1 })
      })

      test('gives one in hand again when it is recorded', async ({ signal }) => {
        await log.schedule([aDelivery({ id: 'a' })], signal)
        const due = await take(log, signal)
        await log.redeliver('a', signal)
        await due.record(OK, { status: 'delivered' })
        expect(await take(log, signal)).toMatchObject({ isRedelivery: true, delivery: { id: 'a' } })
      })

      test('takes no more than are bounded, and knows no other id', async ({ signal }) => {
        await log.schedule([aDelivery({ id: 'a' })], signal)
        const asked: boolean[] = []
        for (let i = 0; i <= WEBHOOK_REDELIVERIES_MAX; i++) asked.push(await log.redeliver('a', signal))
        expect(asked.indexOf(false)).toBe(WEBHOOK_REDELIVERIES_MAX)
        expect(await log.redeliver('b', signal)).toBe(false)
      })

      test('keeps the last attempts', async ({ signal }) => {
        await log.schedule([aDelivery({ id: 'a' })], signal)
        await (await take(log, signal)).record(OK, { status: 'delivered' })
        for (let i = 1; i <= WEBHOOK_ATTEMPTS_KEPT_MAX + 2; i++) {
          await log.redeliver('a', signal)
          await (await take(log, signal)).record({ ...FAILED, durationMs: i })
        }
        const made = (await log.find('a', signal))?.attempts ?? []
        expect([made.length, made.at(0)?.durationMs]).toEqual([WEBHOOK_ATTEMPTS_KEPT_MAX, 3])
      })
    })

    test('finds the deliveries of a render, and none of another', async ({ signal }) => {
      const one = aDelivery({ id: 'a' })
      await log.schedule([aDelivery({ id: 'c', render: one.render })], signal)
      await log.schedule([one], signal)
      await log.schedule([aDelivery({ id: 'b' })], signal)
      await (await take(log, signal)).record(FAILED, { status: 'gone' })
      const found = await log.listByRender(one.render, signal)
      expect(found.map(({ delivery }) => delivery.id)).toEqual(['a', 'c'])
      expect(found.flatMap(({ attempts }) => attempts)).toHaveLength(1)
      expect(await log.listByRender(aDelivery().render, signal)).toEqual([])
      expect(await log.find('d', signal)).toBeUndefined()
    })

    test('forgets the deliveries of a render, also those in hand, and no others', async ({ signal }) => {
      const [gone, kept] = [aDelivery(), aDelivery()]
      await log.schedule([gone], signal)
      await log.schedule([kept], signal)
      for (const due of await takeMany(log, 2, signal)) {
        if (due.delivery.id !== gone.id) continue
        await log.forget(gone.render, signal)
        await due.record(FAILED, { status: 'scheduled', waitMs: 0 })
      }
      await log.forget(gone.render, signal)
      expect(await log.find(gone.id, signal)).toBeUndefined()
      expect(await log.listByRender(gone.render, signal)).toEqual([])
      expect(await log.redeliver(gone.id, signal)).toBe(false)
      const record = await log.find(kept.id, signal)
      expect(record?.delivery).toStrictEqual(kept)
    })

    test('ends when its consumer is told to stop, and begins nothing when it was told before', async ({ signal }) => {
      const stop = new AbortController()
      const taking = all(log.consume(AbortSignal.any([signal, stop.signal])))
      stop.abort()
      expect(await taking).toEqual([])
      await expect(log.schedule([aDelivery({ id: 'a' })], stop.signal)).rejects.toThrow()
      await expect(log.redeliver('a', stop.signal)).rejects.toThrow()
      expect(await log.find('a', signal)).toBeUndefined()
    })

    test('keeps everything over a restart, and gives again what was in hand', async (context) => {
      if (harness.reopen === undefined) return context.skip()
      const { signal } = context
      for (const id of ['a', 'b', 'c', 'd']) await log.schedule([aDelivery({ id })], signal)
      const [first, second, third] = await takeMany(log, 3, signal)
      assert(first !== undefined && second !== undefined && third !== undefined)
      const [waits, ended, inHand] = [first, second, third].map(({ delivery }) => delivery.id)
      assert(waits !== undefined && ended !== undefined)
      await first.record(FAILED, { status: 'scheduled', waitMs: 5000 })
      await second.record(OK, { status: 'delivered' })
      await log.redeliver(ended, signal)
      log = await harness.reopen()
      const due = await takeMany(log, 3, signal)
      const never = ['a', 'b', 'c', 'd'].find((id) => ![waits, ended, inHand].includes(id))
      const given = due.map(({ delivery, isRedelivery }) => `${delivery.id} ${isRedelivery}`)
      expect(given.toSorted()).toEqual([`${ended} true`, `${inHand} false`, `${never} false`].toSorted())
      expect(await log.find(waits, signal)).toMatchObject({ dueAt: NOON + 5000, attempts: [FAILED] })
    })
  })
}

async function scheduled(log: DeliveryLog, signal: AbortSignal, id?: string): Promise<string> {
  const delivery: Delivery = aDelivery(id === undefined ? {} : { id })
  await log.schedule([delivery], signal)
  return delivery.id
}

export async function take(log: DeliveryLog, signal: AbortSignal): Promise<DueDelivery> {
  const [due] = await takeMany(log, 1, signal)
  assert(due !== undefined)
  return due
}

/** Takes `count` due deliveries. Deliveries fetched beyond them are given back when the iteration ends. */
export async function takeMany(log: DeliveryLog, count: number, signal: AbortSignal): Promise<DueDelivery[]> {
  const taken: DueDelivery[] = []
  for await (const due of log.consume(signal)) if (taken.push(begun(due)) === count) break
  return taken
}

/** Begins with the next due delivery when it comes. One that the log has taken back comes again. */
async function nextOf(given: AsyncIterator<DueDelivery>): Promise<DueDelivery | undefined> {
  for (;;) {
    const { value } = await given.next()
    if (value?.begin?.() !== false) return value
  }
}

/** Begins with a due delivery, as the dispatcher does before it calls. */
function begun<Due extends DueDelivery | undefined>(due: Due): Due {
  assert(due?.begin?.() !== false, 'the log has not taken it back')
  return due
}

/** Resolves when the consumer waits for a timer. */
async function untilArmed(clock: ManualClock): Promise<void> {
  while (clock.armed() === 0) await setImmediate()
}
