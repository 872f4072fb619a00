import { expect, test } from 'vitest'
import { rungFor } from './rungs.ts'

test.for([
  [-1, undefined],
  [0, undefined],
  [1, 1000],
  [999, 1000],
  [1000, 1000],
  [4749, 1000],
  [4750, 5000],
  [5000, 5000],
  [29_749, 5000],
  [1_800_000, 1_800_000],
  [2_000_000, 1_800_000],
])('a wait of %d ms begins in the rung of %s ms', ([waitMs, rungMs]) => {
  expect(rungFor(Number(waitMs))?.waitMs).toBe(rungMs)
})
