/** Tests deliveries on Kafka when a process, a broker or a record fails: none is lost, and no receiver is called twice without need. */
import { setImmediate } from 'node:timers/promises'
import { openConsumer } from '@platen/adapters/kafka/consumer/consumer.ts'
import type { KafkaDeliveryLog } from '@platen/adapters/kafka/delivery/delivery-log.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { WEBHOOK_DEFER_MS_MAX, WEBHOOK_REDELIVERIES_MAX, WEBHOOK_RETRY_MS } from '@platen/contract/domain/limit.ts'
import type { DueDelivery } from '@platen/contract/port/delivery-log.ts'
import { openNotifier } from '@platen/lib/notifier.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { assert, describe, expect, test } from 'vitest'
import { aDelivery, NOON } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'
import { poll } from '../time/poll.ts'
import { FAILED, OK, take, takeMany } from './delivery-log.suite.ts'
import { opened } from './harness.ts'
import { type DeliveryHarness, deliveryHarness, expectNone, NEXT } from './kafka-delivery-harness.ts'
import { describeOnKafka, describeOnOwnKafka } from './kafka-harness.ts'
import { untilTaken } from './kafka-record.ts'

/** The group needs half a minute to notice. */
const BROKER_BACK_MS_MAX = 180_000

describeOnKafka('deliveries on Kafka', (kafka) => {
  const installation = (clock: ManualClock) => deliveryHarness(kafka, { clock, artifacts: memoryArtifactStore() })

  describe('of a process that dies', () => {
    test('after a delivery is written and before it is reminded of', async ({ signal }) => {
      await using harness = await installation(manualClock(NOON))
      const log = await harness.open()
      harness.fail(/^send webhook.due/)
      await expect(log.schedule([aDelivery({ id: 'a' })], signal)).rejects.toThrow(Unavailable)
      const after = await harness.reopen()
      // The event is read again.
      await after.schedule([aDelivery({ id: 'a' })], signal)
      expect(await take(after, signal)).toMatchObject({ attempts: 0, delivery: { id: 'a' } })
    })

    test('after a call and before it is written: calls again', async ({ signal }) => {
      await using harness = await installation(manualClock(NOON))
      const log = await harness.open()
      await log.schedule([aDelivery({ id: 'a' })], signal)
      const due = await take(log, signal)
      harness.fail(/^put /)
      await expect(due.record(OK, { status: 'delivered' })).rejects.toThrow(Unavailable)
      expect(await take(await harness.reopen(), signal)).toMatchObject({ attempts: 0, delivery: { id: 'a' } })
    })

    test.for(['recorded', 'deferred'] as const)(
      'after it is %s and before the next attempt is reminded of: makes that one, and none before',
      async (what, { signal }) => {
        const clock = manualClock(NOON)
        await using harness = await installation(clock)
        const log = await harness.open()
        await log.schedule([aDelivery({ id: 'a' })], signal)
        const due = await take(log, signal)
        harness.fail(/^send webhook.wait/)
        const ending = what === 'recorded' ? due.record(FAILED, NEXT) : due.defer(NEXT.waitMs)
        await expect(ending).rejects.toThrow(Unavailable)
        const after = await harness.reopen()
        await expectNone(after, signal)
        await clock.advance(1000)
        expect(await take(after, signal)).toMatchObject({
          attempts: what === 'recorded' ? 1 : 0,
          dueAt: NOON + NEXT.waitMs,
        })
      },
    )

    test('after an attempt that was asked for is written: does not make it again', async ({ signal }) => {
      await using harness = await installation(manualClock(NOON))
      const log = await harness.open()
      await ended(log, 'a', signal)
      await log.redeliver('a', signal)
      const due = await take(log, signal)
      harness.fail(/^delete delivery\/ask/)
      await expect(due.record(FAILED)).rejects.toThrow(Unavailable)
      const after = await harness.reopen()
      await expectNone(after, signal)
      expect((await after.find('a', signal))?.attempts).toStrictEqual([OK, FAILED])
      const asked: boolean[] = []
      for (let i = 0; i <= WEBHOOK_REDELIVERIES_MAX; i++) asked.push(await after.redeliver('a', signal))
      expect(asked.indexOf(false)).toBe(WEBHOOK_REDELIVERIES_MAX)
    })

    test('after an attempt is asked for and before it is reminded of: makes room for others in the end', async ({
      signal,
    }) => {
      const clock = manualClock(NOON)
      await using harness = await installation(clock)
      const log = await harness.open()
      await ended(log, 'a', signal)
      harness.fail(/^send webhook.due/)
      for (let i = 0; i < WEBHOOK_REDELIVERIES_MAX; i++) {
        await expect(log.redeliver('a', signal)).rejects.toThrow(Unavailable)
      }
      harness.fail()
      expect(await log.redeliver('a', signal)).toBe(false)
      await expectNone(log, signal)
      await clock.advance(WEBHOOK_DEFER_MS_MAX + 1)
      expect(await log.redeliver('a', signal)).toBe(false)
      for (let i = 0; i < WEBHOOK_REDELIVERIES_MAX; i++) await (await take(log, signal)).record(FAILED)
      await expectNone(log, signal)
      expect(await log.redeliver('a', signal)).toBe(true)
    })
  })

  test('gives nothing twice when everything is read again, wherever it stands', async ({ signal }) => {
    const clock = manualClock(NOON)
    await using harness = await installation(clock)
    const log = await harness.open()
    for (const id of ['waits', 'ended', 'held', 'asked', 'deferred']) await log.schedule([aDelivery({ id })], signal)
    const due = await takeMany(log, 5, signal)
    const held = due.find(({ delivery }) => delivery.id === 'held')
    await byId(due, 'waits').record(FAILED, NEXT)
    await byId(due, 'ended').record(OK, { status: 'delivered' })
    await byId(due, 'deferred').defer(NEXT.waitMs)
    await byId(due, 'asked').record(OK, { status: 'delivered' })
    await log.redeliver('asked', signal)
    await (await take(log, signal)).record(OK, { status: 'delivered' })
    await harness.replay()
    await expectNone(log, signal)
    await held?.record(OK, { status: 'delivered' })
    await expectNone(log, signal)
    await clock.advance(1000)
    const again = await takeMany(log, 2, signal)
    expect(again.map(({ delivery }) => delivery.id).toSorted()).toStrictEqual(['deferred', 'waits'])
    await expectNone(log, signal)
    for (const each of again) await each.record(OK, { status: 'delivered' })
    await harness.replay()
    await clock.advance(1000)
    await expectNone(log, signal)
  })

  test('gives all out while processes join, leave and take over from each other', async ({ signal }) => {
    const clock = systemClock()
    await using harness = await deliveryHarness(kafka, { clock, artifacts: memoryArtifactStore() }, {})
    const recorded = new Map<string, number>()
    const ids = Array.from({ length: 300 }, (_, i) => `d${i}`)
    const isDone = openNotifier()
    const work = async (log: KafkaDeliveryLog, over: AbortSignal) => {
      for await (const due of log.consume(over)) {
        await due.record(OK, { status: 'delivered' })
        recorded.set(due.delivery.id, (recorded.get(due.delivery.id) ?? 0) + 1)
        isDone.notify()
      }
    }
    const untilRecorded = async (count: number) => {
      while (recorded.size < count) await isDone.wait(signal)
    }
    const log = await harness.open()
    const all = ids.map((id) => aDelivery({ id }))
    const stop = [new AbortController(), new AbortController(), new AbortController()] as const
    const over = (at: 0 | 1 | 2) => AbortSignal.any([signal, stop[at].signal])
    const working = [work(log, over(0))]
    await log.schedule(all.slice(0, 100), signal)
    await untilRecorded(20)
    const second = await harness.another()
    working.push(work(second, over(1)))
    await log.schedule(all.slice(100, 200), signal)
    await untilRecorded(120)
    stop[0].abort()
    await working[0]
    // It holds deliveries that were fetched and not taken. After the close they belong to the other process.
    await log[Symbol.asyncDispose]()
    const third = await harness.another()
    working.push(work(third, over(2)))
    await second.schedule(all.slice(200), signal)
    await untilRecorded(ids.length)
    stop[1].abort()
    stop[2].abort()
    await Promise.all(working)
    const open = await Promise.all(ids.map((id) => third.find(id, signal)))
    expect(open.every((record) => record?.status === 'delivered')).toBe(true)
    await second[Symbol.asyncDispose]()
    await third[Symbol.asyncDispose]()
  })

  test('waits for its rungs one after the other, never too short, and what is due sooner passes by', async ({
    signal,
  }) => {
    const clock = manualClock(NOON)
    const log = await opened(installation(clock))
    const waits = [
      ['long', 300_000],
      ['odd', 37_250],
      ['short', 1000],
    ] as const
    for (const [id, waitMs] of waits) {
      await log.schedule([aDelivery({ id })], signal)
      await (await take(log, signal)).record(FAILED, { status: 'scheduled', waitMs })
    }
    const given: string[] = []
    const working = (async () => {
      for await (const { delivery, dueAt } of log.consume(signal)) {
        expect(clock.now()).toBeGreaterThanOrEqual(dueAt)
        given.push(delivery.id)
        if (given.length === 3) return
      }
    })()
    // The clock advances at most to the due time plus the shortest delay. Reminders move between delay topics while this clock stands
    // still.
    for (const [id, waitMs] of waits.toReversed()) {
      while (!given.includes(id)) {
        signal.throwIfAborted()
        if (clock.armed() > 0 && clock.now() < NOON + waitMs + 1000) await clock.advance(250)
        await setImmediate()
      }
      expect(given.at(-1)).toBe(id)
    }
    await working
  })

  test.for([
    ['webhook.due', 'garbage', 'it is not JSON'],
    ['webhook.due', '{"version":0}', '/id is required'],
    [`webhook.wait.${Number(WEBHOOK_RETRY_MS[0]) / 1000}s`, '{"version":1}', '/id is required'],
  ] as const)('puts aside what nobody can read in %s: %s', async ([topic, value, reason], { signal }) => {
    await using harness = await installation(manualClock(NOON))
    const log = await harness.open()
    await harness.connection.send(harness.settings.prefix + topic, [{ key: 'k', value }], signal)
    await log.schedule([aDelivery({ id: 'a' })], signal)
    expect((await take(log, signal)).delivery.id).toBe('a')
    const dead = await deadLetter(harness, signal)
    expect(dead.value?.toString()).toBe(value)
    expect(dead.headers['platen-reason']?.toString()).toBe(reason)
    expect(dead.headers['platen-topic']?.toString()).toBe(harness.settings.prefix + topic)
    expect(await poll(() => harness.deadLetters()).until((count) => count > 0)).toBe(1)
  })

  test('puts a reminder aside whose object nobody can read, and goes on', async ({ signal }) => {
    const artifacts = memoryArtifactStore()
    await using harness = await deliveryHarness(kafka, { clock: manualClock(NOON), artifacts })
    const log = await harness.open()
    const { id, render } = aDelivery({ id: 'a' })
    const place = { bucket: 'platen', key: `delivery/of/${render}/${id}` }
    await artifacts.put(place, Buffer.from('{"version":1}'), signal)
    await log.schedule([aDelivery({ id, render })], signal)
    await log.schedule([aDelivery({ id: 'b' })], signal)
    expect((await take(log, signal)).delivery.id).toBe('b')
    const dead = await deadLetter(harness, signal)
    expect(dead.headers['platen-reason']?.toString()).toMatch(/^delivery\/of\/.*\/a: \/delivery is required/)
    expect(await poll(() => harness.deadLetters()).until((count) => count > 0)).toBe(1)
  })

  test('says that the store is away, and gives out all the same when it is back', async ({ signal }) => {
    await using harness = await installation(manualClock(NOON))
    const log = await harness.open()
    await log.schedule([aDelivery({ id: 'a' })], signal)
    await log.schedule([aDelivery({ id: 'b' })], signal)
    harness.fail(/^get /)
    await expect(take(log, signal)).rejects.toThrow(Unavailable)
    harness.fail()
    const due = await takeMany(log, 2, signal)
    expect(due.map(({ delivery }) => delivery.id).toSorted()).toStrictEqual(['a', 'b'])
  })
})

describeOnOwnKafka('deliveries on a Kafka that goes away', (kafka) => {
  test('goes on when the broker was killed and is back', { timeout: BROKER_BACK_MS_MAX }, async ({ signal }) => {
    const clock = manualClock(NOON)
    const log = await opened(deliveryHarness(kafka, { clock, artifacts: memoryArtifactStore() }))
    await log.schedule([aDelivery({ id: 'a' })], signal)
    const due = await take(log, signal)
    await kafka.server().kill()
    await expect(due.record(FAILED, NEXT)).rejects.toThrow(Unavailable)
    await kafka.server().start()
    await untilTaken(() => due.record(FAILED, NEXT), signal)
    await untilTaken(() => log.schedule([aDelivery({ id: 'b' })], signal), signal)
    expect((await take(log, signal)).delivery.id).toBe('b')
    await clock.advance(1000)
    expect(await take(log, signal)).toMatchObject({ attempts: 1, delivery: { id: 'a' } })
    expect(log.isAlive()).toBe(true)
  })
})

/** Schedules a delivery and delivers it. */
async function ended(log: KafkaDeliveryLog, id: string, signal: AbortSignal): Promise<void> {
  await log.schedule([aDelivery({ id })], signal)
  await (await take(log, signal)).record(OK, { status: 'delivered' })
}

function byId(due: readonly DueDelivery[], id: string): DueDelivery {
  const found = due.find(({ delivery }) => delivery.id === id)
  assert(found !== undefined)
  return found
}

async function deadLetter({ connection, settings }: DeliveryHarness, signal: AbortSignal) {
  const topic = `${settings.prefix}webhook.dead`
  const arrival = openNotifier()
  const group = { group: `${settings.prefix}reader`, topics: [topic], onRecords: () => arrival.notify() }
  await using reader = await openConsumer(connection, group, signal)
  for (;;) {
    const record = reader.poll(topic)
    if (record !== undefined) return record
    await arrival.wait(signal)
  }
}
