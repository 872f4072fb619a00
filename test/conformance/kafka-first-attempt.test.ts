/** Tests deliveries on Kafka that are attempted before they are stored: none is lost, and a receiver that answers at once costs two objects. */

import type { DueDelivery } from '@platen/contract/port/delivery-log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { assert, expect, test } from 'vitest'
import { aDelivery, NOON } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { FAILED, OK, take } from './delivery-log.suite.ts'
import { type DeliveryHarness, deliveryHarness, expectNone, NEXT } from './kafka-delivery-harness.ts'
import { describeOnKafka } from './kafka-harness.ts'

const DELIVERED = { status: 'delivered' } as const
/** By then a reminder looks whether the process of an attempt under way has died. */
const CHECKED_AFTER_MS = 30_000

describeOnKafka('the first attempt at a delivery on Kafka', (kafka) => {
  const installation = (clock = manualClock(NOON)) =>
    deliveryHarness(kafka, { clock, artifacts: memoryArtifactStore() })

  test('writes a delivery once, with its result, and sends no reminder', async ({ signal }) => {
    await using harness = await installation()
    const log = await harness.open()
    harness.fail(/^(create delivery.of|get|send)/)
    const taking = take(log, signal)
    const scheduling = log.schedule([aDelivery({ id: 'a' })], signal)
    const due = await taking
    expect(due).toMatchObject({ attempts: 0, isRedelivery: false, dueAt: NOON, delivery: { id: 'a' } })
    await due.record(OK, DELIVERED)
    await scheduling
    harness.fail()
    expect(await log.find('a', signal)).toMatchObject({ ...DELIVERED, attempts: [OK] })
    await expectNone(log, signal)
  })

  test('is followed by the next one when it fails', async ({ signal }) => {
    const clock = manualClock(NOON)
    await using harness = await installation(clock)
    const log = await harness.open()
    const taking = take(log, signal)
    const scheduling = log.schedule([aDelivery({ id: 'a' })], signal)
    await (await taking).record(FAILED, NEXT)
    await scheduling
    await clock.advance(NEXT.waitMs)
    expect(await take(log, signal)).toMatchObject({ attempts: 1, delivery: { id: 'a' } })
  })

  test('is not made again when its event is read again', async ({ signal }) => {
    await using harness = await installation()
    const log = await harness.open()
    const delivery = aDelivery({ id: 'a' })
    const taking = take(log, signal)
    const scheduling = log.schedule([delivery], signal)
    await (await taking).record(OK, DELIVERED)
    await scheduling
    const stop = new AbortController()
    const given = log.consume(AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]()
    const none = given.next()
    await log.schedule([delivery], signal)
    stop.abort()
    expect((await none).done).toBe(true)
    await expectNone(log, signal)
  })

  test('is stored as scheduled while it takes long, and made again by another process if its own dies', async ({
    signal,
  }) => {
    const clock = manualClock(NOON)
    await using harness = await installation(clock)
    const log = await harness.open()
    await begunWithoutResult(log, signal)
    expect(await log.find('a', signal)).toMatchObject({ status: 'scheduled', attempts: [] })
    const after = await harness.reopen()
    await expectNone(after, signal)
    await clock.advance(CHECKED_AFTER_MS)
    expect(await take(after, signal)).toMatchObject({ attempts: 0, delivery: { id: 'a' } })
  })

  test('is not made again once a result that took long is recorded', async ({ signal }) => {
    const clock = manualClock(NOON)
    await using harness = await installation(clock)
    const log = await harness.open()
    const due = await begunWithoutResult(log, signal)
    await due.record(OK, DELIVERED)
    await clock.advance(CHECKED_AFTER_MS)
    await expectNone(log, signal)
    expect(await log.find('a', signal)).toMatchObject({ ...DELIVERED, attempts: [OK] })
  })

  test('is taken back when it does not begin: the delivery is stored, and due by its reminder', async ({ signal }) => {
    await using harness = await installation()
    const log = await harness.open()
    const stop = new AbortController()
    const given = log.consume(AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]()
    const next = given.next()
    await log.schedule([aDelivery({ id: 'a' })], signal)
    const { value: due } = await next
    assert(due !== undefined)
    expect(due.begin?.()).toBe(false)
    await due.defer(NEXT.waitMs)
    const { value: again } = await given.next()
    expect(again).toMatchObject({ attempts: 0, dueAt: NOON, delivery: { id: 'a' } })
    stop.abort()
  })

  test('is found by its id while it is made', async ({ signal }) => {
    await using harness = await installation()
    const log = await harness.open()
    const taking = take(log, signal)
    const scheduling = log.schedule([aDelivery({ id: 'a' })], signal)
    const due = await taking
    const found = await log.find('a', signal)
    expect(found).toMatchObject({ status: 'scheduled', attempts: [], delivery: { id: 'a' } })
    await due.record(OK, DELIVERED)
    await scheduling
  })

  test('is made again if the process dies before its result is stored', async ({ signal }) => {
    await using harness = await installation()
    const log = await harness.open()
    const delivery = aDelivery({ id: 'a' })
    harness.fail(/delivery.of/)
    const taking = take(log, signal)
    const scheduling = log.schedule([delivery], signal)
    await expect((await taking).record(OK, DELIVERED)).rejects.toThrow(Unavailable)
    // So its event counts as unread, and is read again.
    await expect(scheduling).rejects.toThrow(Unavailable)
    const after = await harness.reopen()
    const again = take(after, signal)
    await after.schedule([delivery], signal)
    expect(await again).toMatchObject({ attempts: 0, delivery: { id: 'a' } })
  })
})

/** Begins the first attempt at a delivery, and returns when that has been stored without a result. */
async function begunWithoutResult(
  log: Awaited<ReturnType<DeliveryHarness['open']>>,
  signal: AbortSignal,
): Promise<DueDelivery> {
  const taking = take(log, signal)
  await log.schedule([aDelivery({ id: 'a' })], signal)
  return await taking
}
