/** Stores limits of accounts beside their counters, so that a change applies before every process has received it. */

import type { Limits } from '@platen/contract/domain/tenant.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import type { RedisConnection } from './connect.ts'
import { LIMITER_SETTINGS_KEPT_MS } from './limit.ts'

/** Accounts whose settings are written at a time: enough to keep Redis busy, few enough that other calls do not wait long. */
const LIMITER_SETTINGS_AT_ONCE = 100

/** The braces put all keys of an account into one hash slot of a Cluster. */
export function limiterPrefix(account: string): string {
  return `platen:limiter:{${account}}`
}

export function settingsKey(account: string): string {
  return `${limiterPrefix(account)}:settings`
}

interface AccountLimits {
  readonly revision: number
  readonly limits: ReadonlyMap<string, Limits>
}

/**
 * Writes the limits of a revision before it is published. Until a process has that revision, the limiter uses these limits instead of the
 * process's own; after that they have no effect. If the revision is not published, they only applied early.
 */
export async function writeLimits(
  redis: RedisConnection,
  { revision, limits }: AccountLimits,
  signal: AbortSignal,
): Promise<void> {
  await forEachConcurrently(limits, LIMITER_SETTINGS_AT_ONCE, async ([account, own]) => {
    const key = settingsKey(account)
    // In sequence: Redis keeps the order of calls on a connection. A hash left without expiry is written again later.
    await redis.call((client) => client.hset(key, { revision, limits: JSON.stringify(own) }), signal)
    await redis.call((client) => client.pexpire(key, LIMITER_SETTINGS_KEPT_MS), signal)
  })
}
