import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { backOffMs } from './back-off.ts'

const BOUNDS = { msMin: 50, msMax: 60_000 }

test('doubles with each failure, by chance up to twice as long, within its bounds', () => {
  const waits = [1, 2, 3, 11, 12, 5000].map((failures) => [
    backOffMs(failures, BOUNDS),
    backOffMs(failures, BOUNDS, 0),
    backOffMs(failures, BOUNDS, 1),
  ])
  expect(waits).toEqual([
    [50, 50, 100],
    [100, 100, 200],
    [200, 200, 400],
    [51_200, 30_000, 60_000],
    [60_000, 30_000, 60_000],
    [60_000, 30_000, 60_000],
  ])
})

test('never leaves its bounds, and never shrinks with more failures', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, chance) => {
      const wait = backOffMs(failures, BOUNDS, chance)
      expect(wait).toBeGreaterThanOrEqual(BOUNDS.msMin)
      expect(wait).toBeLessThanOrEqual(BOUNDS.msMax)
      expect(backOffMs(failures + 1, BOUNDS, chance)).toBeGreaterThanOrEqual(wait)
    }),
  )
})
