import { describe, expect, test } from 'vitest'
import { type FailedAttempt, retryDelayMs } from './retry-delay.ts'

const NOON = Date.UTC(2026, 10, 21, 12)
const SECOND_MS = 1000

/** Returns the milliseconds from the end of this attempt to the next one. */
function wait(failed: Partial<FailedAttempt>): number | undefined {
  return retryDelayMs({ attempts: 1, retriesMax: 5, endedAt: NOON, random: 0, ...failed })
}

test('follows the ladder of 1 s, 5 s, 30 s, 5 min and 30 min, and then ends', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempts) => wait({ attempts }))
  expect(waits).toEqual([1000, 5000, 30_000, 300_000, 1_800_000, undefined])
})

test('is never early, and a tenth late at most', () => {
  const waits = [0, 0.5, 1].map((random) => wait({ attempts: 3, random }))
  expect(waits).toEqual([30_000, 31_500, 33_000])
})

test.for([0, 1, 3, 5])('ends after %d retries where there are no more', (retriesMax) => {
  const waits = Array.from({ length: 6 }, (_, made) => wait({ attempts: made + 1, retriesMax }))
  expect(waits.filter((each) => each !== undefined)).toHaveLength(retriesMax)
})

describe('Retry-After', () => {
  test.for<[string, number]>([
    ['0', 1000],
    ['1', 1000],
    ['2', 5000],
    ['30', 30_000],
    ['31', 300_000],
    ['1800', 1_800_000],
    ['1801', 1_800_000],
    ['9999999999', 1_800_000],
    [' 6 ', 30_000],
    [new Date(NOON + 20 * SECOND_MS).toUTCString(), 30_000],
    [new Date(NOON - 20 * SECOND_MS).toUTCString(), 1000],
    ['Saturday, 21-Nov-26 12:00:20 GMT', 30_000],
  ])('of %j waits for the first step that is as long', ([retryAfter, ms]) => {
    expect(wait({ retryAfter })).toBe(ms)
  })

  test.for(['', '-5', '1.5', '1e3', '0x20', 'soon', 'NaN', 'Sat, 99 Nov', '30, 60'])('of %j is none', (retryAfter) => {
    expect(wait({ retryAfter })).toBe(1000)
  })

  test('never shortens a wait, and adds no attempt', () => {
    expect(wait({ attempts: 4, retryAfter: '1' })).toBe(300_000)
    expect(wait({ attempts: 6, retryAfter: '1' })).toBeUndefined()
  })
})
