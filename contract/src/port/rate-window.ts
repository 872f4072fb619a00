/**
 * A true rolling minute in at most 61 counters. Renders are counted by the whole second of their admission, and a second counts until its
 * last moment is a minute old. So no span of 60 s holds more than the limit, and a place is free again at most a second late. Pure.
 */
import type { Instant } from '@platen/lib/brand.ts'
import { RATE_WINDOW_MS } from '../domain/limit.ts'
import type { RateState } from './limiter.ts'

/** Unix second → renders admitted in it. */
export type RateWindow = Map<number, number>

const SECOND_MS = 1000
/** From the beginning of a second. */
const COUNTED_MS = RATE_WINDOW_MS + SECOND_MS

export interface BucketState extends RateState {
  /** 0 if the render fits, else the shortest wait until it does, if nothing else is requested meanwhile. */
  readonly retryAfterMs: number
}

/** Counts nothing: `remaining` and `resetAt` are as before this render. */
export function readBucket(window: RateWindow, limit: number, now: Instant): BucketState {
  let used = 0
  let newest = Number.NEGATIVE_INFINITY
  for (const [second, count] of window) {
    if (isCounted(second, now)) {
      used += count
      newest = Math.max(newest, second)
    } else window.delete(second)
  }
  return {
    limit,
    remaining: Math.max(limit - used, 0),
    resetAt: window.size === 0 ? now : freeAt(newest),
    retryAfterMs: used < limit ? 0 : waitMsFor(used - limit + 1, window, now),
  }
}

export function countIn(window: RateWindow, now: Instant): void {
  const second = secondOf(now)
  window.set(second, (window.get(second) ?? 0) + 1)
}

/** Gives back the place of a render counted at `then`. */
export function uncountIn(window: RateWindow, then: Instant): void {
  const second = secondOf(then)
  const left = (window.get(second) ?? 0) - 1
  if (left > 0) window.set(second, left)
  else window.delete(second)
}

export function afterCounting(before: BucketState, now: Instant): RateState {
  return { limit: before.limit, remaining: before.remaining - 1, resetAt: freeAt(secondOf(now)) }
}

export function isIdle(window: RateWindow, now: Instant): boolean {
  for (const second of window.keys()) if (isCounted(second, now)) return false
  return true
}

/** A limit of 0 never has a free place; the result is then a whole window, as any number will do. */
function waitMsFor(places: number, window: RateWindow, now: Instant): number {
  let free = 0
  for (const [second, count] of [...window].sort(([a], [b]) => a - b)) {
    free += count
    if (free >= places) return freeAt(second) - now
  }
  return RATE_WINDOW_MS
}

/** A second more than a window ahead was counted before the clock was set back. It must not block that long. */
function isCounted(second: number, now: Instant): boolean {
  const left = freeAt(second) - now
  return left > 0 && left <= COUNTED_MS + RATE_WINDOW_MS
}

function freeAt(second: number): Instant {
  return second * SECOND_MS + COUNTED_MS
}

function secondOf(now: Instant): number {
  return Math.floor(now / SECOND_MS)
}
