/**
 * Stores in Redis how far its views include the event log. The run id shows that a server was restarted or a replica promoted. Such a
 * server may have lost applied events and still have their checkpoint. In a Cluster the views are on other nodes than the checkpoints. If
 * one of those nodes loses data, the comparison with the charged units shows it.
 */
import type { Charged, Checkpoint, Checkpoints } from '@platen/contract/port/checkpoint.ts'
import type { RedisConnection } from './connect.ts'
import { CHARGES_KEPT_MS } from './limit.ts'
import { openScript } from './script.ts'

/** All keys share this hash slot. The key never expires: an installation has one. */
export const CHECKPOINT_KEY = 'platen:{checkpoint}'

/** `key` names the views. */
export function redisCheckpoints(redis: RedisConnection, key = CHECKPOINT_KEY): Checkpoints {
  const script = openScript(redis, { file: './checkpoint.lua' })
  const keysOf = (period: string) => [key, `${key}:charged:${period}`]
  return {
    async begin(partition, range, signal) {
      // The script returns the types of the port, here and below.
      return (await script.run(
        { keys: [key], request: { operation: 'begin', partition, ...range } },
        signal,
      )) as Checkpoint
    },
    async advance(checkpoint, { to, fingerprint, isCaughtUp, period, charged }, signal) {
      const applied = { to, fingerprint, isCaughtUp, charged: Object.fromEntries(charged), keptMs: CHARGES_KEPT_MS }
      const call = { keys: keysOf(period), request: { operation: 'advance', ...checkpoint, ...applied } }
      return (await script.run(call, signal)) as Checkpoint | undefined
    },
    async isComplete(signal) {
      return (await script.run({ keys: [key], request: { operation: 'isComplete' } }, signal)) === true
    },
    async charged(period, signal) {
      const found = await script.run({ keys: keysOf(period), request: { operation: 'charged' } }, signal)
      const { beginning, units } = found as { beginning: string; units: readonly [string, number][] | object }
      // Lua encodes an empty list as an object.
      return { period, beginning, units: new Map(Array.isArray(units) ? units : []) } satisfies Charged
    },
    async forget({ period, beginning }, signal) {
      await script.run({ keys: keysOf(period), request: { operation: 'forget', beginning } }, signal)
    },
  }
}
