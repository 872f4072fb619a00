/** Token buckets in the memory of one process: one for each name, each filled evenly, so many tokens a minute and never more than a minute's. */
import type { Clock } from '@platen/contract/port/clock.ts'

export interface TokenBuckets {
  /** How many milliseconds it takes until there are so many tokens in the bucket of a name, or as many as it can hold; 0 where there are. */
  readonly waitMs: (name: string, tokens: number) => number
  /** Takes tokens; one that has fewer owes the rest, up to a minute's. */
  readonly take: (name: string, tokens: number) => void
}

export interface BucketOptions {
  readonly perMinute: number
  /** Of more names, those that were used least recently are taken for full again. */
  readonly namesMax: number
  readonly clock: Pick<Clock, 'monotonic'>
}

const MINUTE_MS = 60_000

export function openTokenBuckets({ perMinute, namesMax, clock }: BucketOptions): TokenBuckets {
  /** Tokens, and when there were that many; the one used last at the end. Who is absent has all. */
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>()
  const tokensOf = (name: string): number => {
    const bucket = buckets.get(name)
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
      buckets.delete(name)
      buckets.set(name, { tokens: left, at: clock.monotonic() })
      const [oldest] = buckets.keys()
      if (buckets.size > namesMax && oldest !== undefined) buckets.delete(oldest)
    },
  }
}
