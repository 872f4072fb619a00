/** The promises of every checkpoint store. */
import type { Checkpoints } from '@platen/contract/port/checkpoint.ts'
import { assert, describe, expect, test } from 'vitest'
import { type Harness, opened } from './harness.ts'

const RANGE = { first: 3, end: 100 }
const PERIOD = '2026-11'
const NOBODY = new Map<string, number>()

export interface CheckpointHarness extends Harness<Checkpoints> {
  wipe(): Promise<void>
  /** Restarts the store. Durable data remains. */
  restart(): Promise<void>
}

export function describeCheckpoints(name: string, make: () => Promise<CheckpointHarness>): void {
  describe(`checkpoints: ${name}`, () => {
    test('begin with the first event there is, then where they were moved to', async ({ signal }) => {
      const checkpoints = await opened(make())
      const begun = await checkpoints.begin(0, RANGE, signal)
      expect(begun).toMatchObject({ partition: 0, offset: 3 })
      const moved = await checkpoints.advance(begun, { to: 10, period: PERIOD, charged: NOBODY }, signal)
      expect(moved).toEqual({ ...begun, offset: 10 })
      expect(await checkpoints.begin(0, RANGE, signal)).toEqual(moved)
      expect(await checkpoints.begin(1, RANGE, signal)).toMatchObject({ offset: 3 })
    })

    test.for([
      { name: 'events that are gone', known: 5, range: { first: 20, end: 100 }, offset: 20 },
      { name: 'more events than there are', known: 50, range: { first: 0, end: 10 }, offset: 0 },
      { name: 'all there are', known: 50, range: { first: 0, end: 50 }, offset: 50 },
    ])('that know of $name begin at $offset', async ({ known, range, offset }, { signal }) => {
      const checkpoints = await opened(make())
      const begun = await checkpoints.begin(0, RANGE, signal)
      await checkpoints.advance(begun, { to: known, period: PERIOD, charged: NOBODY }, signal)
      expect(await checkpoints.begin(0, range, signal)).toMatchObject({ offset })
    })

    test('are not moved by who was overtaken', async ({ signal }) => {
      const checkpoints = await opened(make())
      const begun = await checkpoints.begin(0, RANGE, signal)
      const to = (offset: number) => ({ to: offset, period: PERIOD, charged: new Map([['a', offset]]) })
      expect(await checkpoints.advance(begun, to(10), signal)).toBeDefined()
      expect(await checkpoints.advance(begun, to(20), signal)).toBeUndefined()
      expect(await checkpoints.begin(0, RANGE, signal)).toMatchObject({ offset: 10 })
      expect((await checkpoints.charged(PERIOD, signal)).units).toEqual(new Map([['a', 10]]))
    })

    test('are not moved when all was lost meanwhile, also where somebody has begun again', async ({ signal }) => {
      await using harness = await make()
      const checkpoints = await harness.open()
      const begun = await checkpoints.begin(0, RANGE, signal)
      const applied = { to: 10, period: PERIOD, charged: NOBODY }
      await harness.wipe()
      expect(await checkpoints.advance(begun, applied, signal)).toBeUndefined()
      const restarted = await checkpoints.begin(0, RANGE, signal)
      expect(await checkpoints.advance(begun, applied, signal)).toBeUndefined()
      expect(await checkpoints.advance(restarted, applied, signal)).toBeDefined()
    })

    test('are not moved by who applied something before the store was started again', async ({ signal }) => {
      await using harness = await make()
      const checkpoints = await harness.open()
      const begun = await checkpoints.begin(0, RANGE, signal)
      const applied = { to: 10, period: PERIOD, charged: NOBODY }
      await harness.restart()
      expect(await checkpoints.advance(begun, applied, signal)).toBeUndefined()
      const again = await checkpoints.begin(0, RANGE, signal)
      expect(again.offset).toBe(begun.offset)
      expect(await checkpoints.advance(again, applied, signal)).toBeDefined()
    })

    test('are complete when every partition has all that it had when it was begun, until something may be lost', async ({
      signal,
    }) => {
      await using harness = await make()
      const checkpoints = await harness.open()
      const applied = { to: 10, period: PERIOD, charged: NOBODY }
      const complete = async (partition: number) => {
        const begun = await checkpoints.begin(partition, { ...RANGE, partitions: 2 }, signal)
        const behind = await checkpoints.advance(begun, { ...applied, isCaughtUp: false }, signal)
        assert(behind !== undefined)
        const before = await checkpoints.isComplete(signal)
        await checkpoints.advance(behind, { ...applied, isCaughtUp: true }, signal)
        return before
      }
      expect(await checkpoints.isComplete(signal)).toBe(false)
      expect([await complete(0), await complete(1), await checkpoints.isComplete(signal)]).toEqual([false, false, true])
      // It has shown everything once: what comes later is told by those who cause it.
      const later = await checkpoints.begin(1, RANGE, signal)
      await checkpoints.advance(later, { ...applied, to: 20 }, signal)
      expect(await checkpoints.isComplete(signal)).toBe(true)
      await harness.restart()
      expect(await checkpoints.isComplete(signal)).toBe(false)
      expect([await complete(0), await complete(1), await checkpoints.isComplete(signal)]).toEqual([false, false, true])
      await harness.wipe()
      expect(await checkpoints.isComplete(signal)).toBe(false)
    })

    test('know the most that accounts were charged in a month', async ({ signal }) => {
      const checkpoints = await opened(make())
      expect((await checkpoints.charged(PERIOD, signal)).units).toEqual(new Map())
      let checkpoint = await checkpoints.begin(0, RANGE, signal)
      const tell = async (period: string, charged: Readonly<Record<string, number>>) => {
        const applied = { to: checkpoint.offset + 1, period, charged: new Map(Object.entries(charged)) }
        const next = await checkpoints.advance(checkpoint, applied, signal)
        assert(next !== undefined)
        checkpoint = next
      }
      await tell(PERIOD, { a: 10, b: 1 })
      await tell(PERIOD, { a: 9 })
      await tell('2026-12', { b: 7 })
      expect((await checkpoints.charged(PERIOD, signal)).units).toEqual(
        new Map([
          ['a', 10],
          ['b', 1],
        ]),
      )
    })

    test('are forgotten on request, once', async ({ signal }) => {
      const checkpoints = await opened(make())
      const begun = await checkpoints.begin(0, RANGE, signal)
      const applied = { to: 10, period: PERIOD, charged: new Map([['a', 1]]) }
      const moved = await checkpoints.advance(begun, applied, signal)
      assert(moved !== undefined)
      const known = await checkpoints.charged(PERIOD, signal)
      await checkpoints.forget(known, signal)
      expect(await checkpoints.advance(moved, { ...applied, to: 20 }, signal)).toBeUndefined()
      const restarted = await checkpoints.begin(0, RANGE, signal)
      expect(restarted.offset).toBe(3)
      expect((await checkpoints.charged(PERIOD, signal)).units).toEqual(new Map())
      await checkpoints.forget(known, signal)
      expect(await checkpoints.advance(restarted, applied, signal)).toBeDefined()
    })
  })
}
