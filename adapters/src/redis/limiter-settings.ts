/** The limits of accounts beside their counters, so that a change counts before every process has heard of it. */
import { LIMITER_SETTINGS_AT_ONCE, LIMITER_SETTINGS_KEPT_MS } from '@platen/contract/directory-limit.ts'
import type { Limits } from '@platen/contract/tenant.ts'
import type { RedisConnection } from './connect.ts'

/** The braces make it one hash slot of a Cluster for all of an account. */
export function limiterPrefix(account: string): string {
  return `platen:limiter:{${account}}`
}

/** A hash of a revision and its limits. */
export function settingsKey(account: string): string {
  return `${limiterPrefix(account)}:settings`
}

export interface AccountLimits {
  readonly revision: number
  /** By account. */
  readonly limits: ReadonlyMap<string, Limits>
}

/**
 * Writes limits that will be in force with a revision. Until a process has that revision, the limiter goes by them in its place;
 * from then on they mean nothing, so writing them and then not publishing does no more than let them count early.
 */
export async function writeLimits(
  redis: RedisConnection,
  { revision, limits }: AccountLimits,
  signal: AbortSignal,
): Promise<void> {
  const waiting = limits.entries()
  const work = async () => {
    // All workers draw from the one iterator, so each account is written once.
    for (const [account, own] of waiting) {
      const key = settingsKey(account)
      // One after the other: Redis takes the calls of a connection in their order, and a hash that is left without its end is written again.
      await redis.call((client) => client.hset(key, { revision, limits: JSON.stringify(own) }), signal)
      await redis.call((client) => client.pexpire(key, LIMITER_SETTINGS_KEPT_MS), signal)
    }
  }
  await Promise.all(Array.from({ length: LIMITER_SETTINGS_AT_ONCE }, work))
}
