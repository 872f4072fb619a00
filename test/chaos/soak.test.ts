/** The short soak: does the same as `make soak` with its two thousand renders, often enough to notice a lost slot or process. */
import { expect, test } from 'vitest'
import { SLOTS, soak } from '../soak/soak.ts'

/** In the two halves together, each hostile trick runs once. */
const EVERY = 55
const CALM = 16
/**
 * Higher than in the long form: after few renders, a thread that was just replaced is visible. A page or thread left behind by every
 * hostile render would exceed this limit.
 */
const GROWTH_MAX = 0.3

test('mixed renders, one in ten hostile, end as they should and leave nothing behind', async () => {
  const { samples, surprises, atOnce, strays, exitCode } = await soak({ renders: 2 * EVERY, every: EVERY, calm: CALM })
  expect(surprises).toEqual([])
  expect(atOnce).toEqual({ react_pdf: SLOTS, html: SLOTS })
  expect(strays).toEqual([])
  expect(exitCode).toBe(0)
  const [level = 0, later = 0] = samples.map(({ pss }) => pss)
  expect(level).toBeGreaterThan(0)
  expect(later / level).toBeLessThan(1 + GROWTH_MAX)
})
