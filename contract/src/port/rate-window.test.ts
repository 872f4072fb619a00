import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterCounting, countIn, isIdle, type RateWindow, readBucket, uncountIn } from './rate-window.ts'

/** On a whole second, so that the rows read easily. */
const NOON = Date.UTC(2026, 10, 21, 12)

/** A window with renders admitted so many milliseconds after noon. */
function windowOf(...admitted: readonly number[]): RateWindow {
  const window: RateWindow = new Map()
  for (const at of admitted) countIn(window, NOON + at)
  return window
}

test.for<[string, { admitted: number[]; limit: number; at: number; remaining: number; retryAfterMs: number }]>([
  ['nothing was admitted', { admitted: [], limit: 2, at: 0, remaining: 2, retryAfterMs: 0 }],
  ['there is room', { admitted: [0], limit: 2, at: 0, remaining: 1, retryAfterMs: 0 }],
  ['it is full', { admitted: [0, 0], limit: 2, at: 0, remaining: 0, retryAfterMs: 61_000 }],
  [
    'it is full until the end of the second',
    { admitted: [0, 999], limit: 2, at: 999, remaining: 0, retryAfterMs: 60_001 },
  ],
  ['the oldest is about to go', { admitted: [0, 5000], limit: 2, at: 60_999, remaining: 0, retryAfterMs: 1 }],
  ['the oldest has gone', { admitted: [0, 5000], limit: 2, at: 61_000, remaining: 1, retryAfterMs: 0 }],
  ['all have gone', { admitted: [0, 5000], limit: 2, at: 66_000, remaining: 2, retryAfterMs: 0 }],
  ['the limit was lowered', { admitted: [0, 1000, 2000], limit: 1, at: 2000, remaining: 0, retryAfterMs: 61_000 }],
  ['the limit was raised', { admitted: [0, 1000, 2000], limit: 4, at: 2000, remaining: 1, retryAfterMs: 0 }],
  ['the limit is 0', { admitted: [], limit: 0, at: 0, remaining: 0, retryAfterMs: 60_000 }],
  ['the limit has become 0', { admitted: [0], limit: 0, at: 0, remaining: 0, retryAfterMs: 60_000 }],
  ['the clock was set back a little', { admitted: [5000], limit: 1, at: 3000, remaining: 0, retryAfterMs: 63_000 }],
  [
    'the clock was set back in between',
    { admitted: [5000, 3000], limit: 2, at: 3000, remaining: 0, retryAfterMs: 61_000 },
  ],
  ['the clock was set back by an hour', { admitted: [3_600_000], limit: 1, at: 0, remaining: 1, retryAfterMs: 0 }],
])('a look when %s', ([, { admitted, limit, at, remaining, retryAfterMs }]) => {
  expect(readBucket(windowOf(...admitted), limit, NOON + at)).toMatchObject({ limit, remaining, retryAfterMs })
})

test('is all free again when the newest second has gone', () => {
  expect(readBucket(windowOf(), 2, NOON).resetAt).toBe(NOON)
  expect(readBucket(windowOf(5000, 3000), 2, NOON + 3000).resetAt).toBe(NOON + 66_000)
  const look = readBucket(windowOf(0, 1500), 9, NOON + 2000)
  expect(look.resetAt).toBe(NOON + 62_000)
  expect(afterCounting(look, NOON + 2000)).toStrictEqual({ limit: 9, remaining: 6, resetAt: NOON + 63_000 })
})

test('gives a place back where it was counted, and takes no other for it', () => {
  const window = windowOf(0, 0, 1000)
  uncountIn(window, NOON + 999)
  expect(window).toStrictEqual(windowOf(0, 1000))
  uncountIn(window, NOON + 30_000)
  expect(window).toStrictEqual(windowOf(0, 1000))
})

test('is idle once nothing in it counts', () => {
  expect(isIdle(windowOf(), NOON)).toBe(true)
  expect(isIdle(windowOf(0, 1000), NOON + 61_999)).toBe(false)
  expect(isIdle(windowOf(0, 1000), NOON + 62_000)).toBe(true)
})

test('never holds more than 61 seconds, however long it is used', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3000), { minLength: 1, maxLength: 300 }), (gaps) => {
      const window: RateWindow = new Map()
      let now = NOON
      for (const gap of gaps) {
        now += gap
        readBucket(window, 1_000_000, now)
        countIn(window, now)
        expect(window.size).toBeLessThanOrEqual(61)
      }
    }),
  )
})
