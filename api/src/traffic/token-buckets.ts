/** Token buckets in the memory of one process, one per name. Each refills evenly at `perMinute`, and holds at most a minute's tokens. */

import type { Clock } from '@platen/lib/clock.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'

export interface TokenBuckets {
  /** Milliseconds until the bucket of a name has `tokens` tokens, or is full if it cannot hold so many. 0 if it has them now. */
  readonly waitMs: (name: string, tokens: number) => number
  /** Takes tokens. A bucket with fewer goes negative, by at most a minute's tokens. */
  readonly take: (name: string, tokens: number) => void
}

interface BucketOptions {
  readonly perMinute: number
  /** Beyond this, the least recently used names are forgotten and count as full. */
  readonly namesMax: number
  readonly clock: Pick<Clock, 'monotonic'>
}

const MINUTE_MS = 60_000

export function openTokenBuckets({ perMinute, namesMax, clock }: BucketOptions): TokenBuckets {
  /** The tokens that a bucket had at a time. An absent bucket is full. */
  const buckets = openLruCache<{ readonly tokens: number; readonly at: number }>(namesMax)
  const tokensOf = (name: string): number => {
    const bucket = buckets.peek(name)
    if (bucket === undefined) return perMinute
    return Math.min(perMinute, bucket.tokens + ((clock.monotonic() - bucket.at) / MINUTE_MS) * perMinute)
  }
  return {
    waitMs(name, tokens) {
      const missing = Math.min(tokens, perMinute) - tokensOf(name)
      return missing <= 0 ? 0 : (missing / perMinute) * MINUTE_MS
    },
    take(name, tokens) {
      const left = Math.max(tokensOf(name) - tokens, -perMinute)
      buckets.set(name, { tokens: left, at: clock.monotonic() })
    },
  }
}
