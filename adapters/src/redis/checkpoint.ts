/**
 * How far the views in Redis are made of the event log, in Redis itself. A server that was started again, or a replica that was
 * promoted, is told by its run id: between what was applied and its checkpoint, it may have lost the one and have the other.
 * In a Cluster the views are on other nodes than this: what one of those loses shows in what was charged.
 */
import { CHARGES_KEPT_MS } from '@platen/contract/limit.ts'
import type { Charged, Checkpoint, Checkpoints } from '@platen/contract/port/checkpoint.ts'
import type { RedisConnection } from './connect.ts'
import { openScript } from './script.ts'

/** Of one hash slot. It never expires: an installation has one. */
export const CHECKPOINT_KEY = 'platen:{checkpoint}'

/** The checkpoints in Redis. */
export function redisCheckpoints(redis: RedisConnection): Checkpoints {
  const script = openScript(redis, { file: './checkpoint.lua' })
  const keysOf = (period: string) => [CHECKPOINT_KEY, `${CHECKPOINT_KEY}:charged:${period}`]
  return {
    async begin(partition, range, signal) {
      // The script answers in the port's own words, here and below.
      return (await script.run(
        { keys: [CHECKPOINT_KEY], request: { operation: 'begin', partition, ...range } },
        signal,
      )) as Checkpoint
    },
    async advance(checkpoint, { to, period, charged }, signal) {
      const applied = { to, charged: Object.fromEntries(charged), keptMs: CHARGES_KEPT_MS }
      const call = { keys: keysOf(period), request: { operation: 'advance', ...checkpoint, ...applied } }
      return (await script.run(call, signal)) as Checkpoint | undefined
    },
    async charged(period, signal) {
      const found = await script.run({ keys: keysOf(period), request: { operation: 'charged' } }, signal)
      const { beginning, units } = found as { beginning: string; units: readonly [string, number][] | object }
      // An empty list of Lua is an object in JSON.
      return { period, beginning, units: new Map(Array.isArray(units) ? units : []) } satisfies Charged
    },
    async forget({ period, beginning }, signal) {
      await script.run({ keys: keysOf(period), request: { operation: 'forget', beginning } }, signal)
    },
  }
}
