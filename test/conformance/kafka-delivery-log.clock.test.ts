/** Tests that the waits of deliveries on Kafka do not depend on the wall clock. */
import { setImmediate } from 'node:timers/promises'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { aDelivery, NOON } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { FAILED, take } from './delivery-log.suite.ts'
import { deliveryHarness, expectNone, NEXT } from './kafka-delivery-harness.ts'
import { describeOnKafka } from './kafka-harness.ts'

const HOUR_MS = 3_600_000

describeOnKafka('deliveries on Kafka', (kafka) => {
  describe('a clock that is set back by an hour lengthens no wait', () => {
    /** An installation whose clock goes back as soon as anything is written. */
    async function installed() {
      const clock = manualClock(NOON)
      const store = memoryArtifactStore()
      let [isSetBack, willBe] = [false, false]
      const setBack = () => {
        isSetBack ||= willBe
      }
      const artifacts: typeof store = {
        ...store,
        put: (...args) => store.put(...args).finally(setBack),
        create: (...args) => store.create(...args).finally(setBack),
      }
      const shifted = { ...clock, now: () => clock.now() - (isSetBack ? HOUR_MS : 0) }
      const harness = await deliveryHarness(kafka, { clock: shifted, artifacts })
      return {
        harness,
        clock,
        setBackWhenWritten: () => {
          willBe = true
        },
      }
    }

    /** The same, with a delivery already taken. */
    async function inHand(signal: AbortSignal) {
      const scene = await installed()
      const log = await scene.harness.open()
      await log.schedule([aDelivery({ id: 'a' })], signal)
      const due = await take(log, signal)
      scene.setBackWhenWritten()
      return { ...scene, log, due }
    }

    test('while a delivery is begun', async ({ signal }) => {
      const { harness, setBackWhenWritten } = await installed()
      await using _harness = harness
      const log = await harness.open()
      setBackWhenWritten()
      await log.schedule([aDelivery({ id: 'a' })], signal)
      expect((await take(log, signal)).delivery.id).toBe('a')
    })

    test.for(['recorded', 'deferred'] as const)('while it is %s', async (what, { signal }) => {
      const { harness, clock, log, due } = await inHand(signal)
      await using _harness = harness
      await (what === 'recorded' ? due.record(FAILED, NEXT) : due.defer(NEXT.waitMs))
      await expectNone(log, signal)
      await clock.advance(NEXT.waitMs)
      expect((await take(log, signal)).delivery.id).toBe('a')
    })

    test('while it is recorded by a process that dies of it', async ({ signal }) => {
      const { harness, clock, due } = await inHand(signal)
      await using _harness = harness
      harness.fail(/^send webhook.wait/)
      await expect(due.record(FAILED, NEXT)).rejects.toThrow(Unavailable)
      const after = await harness.reopen()
      await expectNone(after, signal)
      await clock.advance(NEXT.waitMs)
      expect(await take(after, signal)).toMatchObject({ attempts: 1 })
    })
  })

  test('lets no reminder wait longer than its rung, whatever it says', async ({ signal }) => {
    const clock = manualClock(NOON)
    await using harness = await deliveryHarness(kafka, { clock, artifacts: memoryArtifactStore() })
    const log = await harness.open()
    const { id, render } = aDelivery({ id: 'a' })
    harness.fail(/^send webhook.due/)
    await expect(log.schedule([aDelivery({ id, render })], signal)).rejects.toThrow(Unavailable)
    harness.fail()
    const value = JSON.stringify({ version: 1, id, render, dueAt: NOON, ripeAt: Number.MAX_SAFE_INTEGER, step: 0 })
    await harness.connection.send(`${harness.settings.prefix}webhook.wait.1s`, [{ key: id, value }], signal)
    const next = take(log, signal)
    while (clock.armed() === 0) await setImmediate()
    await clock.advance(1000)
    expect((await next).delivery.id).toBe(id)
  })
})
