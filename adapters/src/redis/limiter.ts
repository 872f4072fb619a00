/**
 * The limiter of several API processes: the algorithm of `contract/src/limiter-state.ts` as a script inside Redis. So each decision is one
 * call, and no two interleave. All keys of an account are in one hash slot, and everything expires. If Redis loses its data, rates are
 * generous for one minute. Lanes and reservations are wrong until they are counted anew; charges come back from the event log.
 * Completing a render again changes nothing for as long as its charge is kept.
 */
import { chargeOf } from '@platen/contract/charge-sums.ts'
import {
  CHARGED_TEMPLATES_MAX,
  QUEUE_AGE_MS_MAX,
  RATE_WINDOW_MS,
  RESERVATION_MS,
  VIEW_KEPT_MS,
} from '@platen/contract/limit.ts'
import { bucketsOfCaller, heldModeOf, type RateBucket, rateBucketsOf, unitsOf } from '@platen/contract/limiter-state.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { AuditableLimiter, ChargeTotal, Decision, LimitReport, Usage } from '@platen/contract/port/limiter.ts'
import { isAbandoned, type RenderRecord } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import { DEFAULT_LIMITS } from '@platen/contract/tenant.ts'
import { gathered } from './connect/gather.ts'
import type { RedisConnection } from './connect.ts'
import { CHARGES_KEPT_MS } from './limit.ts'
import { limiterPrefix, settingsKey } from './limiter-settings.ts'
import { openScript } from './script.ts'

/** The maximum age of a holding, and the minimum for which an end without a charge is remembered. No older record is rendered. */
const KEPT_MS = VIEW_KEPT_MS

/** In the place of an id, for operations on no render. */
const NO_RENDER = ''

/** Makes the limiter in Redis. Without a clock it uses the time of Redis, the one clock that all processes share. */
export function redisLimiter(redis: RedisConnection, clock?: Clock): AuditableLimiter {
  const script = openScript(redis, { file: './limiter.lua', clock })
  const fixed = { windowMs: RATE_WINDOW_MS, keptMs: KEPT_MS, chargeKeptMs: CHARGES_KEPT_MS }
  const run: Run = (keys, request, signal) => script.run({ keys, request: { ...fixed, ...request } }, signal)
  const completeAll = completing(redis, run)
  return {
    async reserve(request, signal) {
      const { account, id, others, period, engine, mode, units, limits, revision } = request
      const buckets = keyed(rateBucketsOf(request), account)
      const own = [...keysOf(account, period), endedKey(account, id), settingsKey(account)]
      const keys = [...own, ...buckets.map(({ key }) => key)]
      const render = { id, engine, mode, units, period, limits, defaults: DEFAULT_LIMITS, revision, buckets }
      const heldMode = others === undefined ? mode : 'batch'
      const reserving = {
        operation: 'reserve',
        ...render,
        heldMode,
        others: others ?? [],
        unitsInAll: unitsOf(request),
      }
      const decision = await run(keys, { ...reserving, holdMs: RESERVATION_MS }, signal)
      // The script returns the type of the port.
      return decision as Decision
    },
    confirm: confirming(run),
    complete: (manifest, signal) => completeAll([manifest], signal),
    completeAll,
    async usage(account, period, signal) {
      // The script returns the type of the port.
      return (await run(keysOf(account, period), { operation: 'usage', period }, signal)) as Usage
    },
    async report(query, signal) {
      const { account, period, limits, revision } = query
      const buckets = keyed(bucketsOfCaller(query), account)
      const own = [...keysOf(account, period), endedKey(account, NO_RENDER), settingsKey(account)]
      const keys = [...own, ...buckets.map(({ key }) => key)]
      const caller = { period, limits, defaults: DEFAULT_LIMITS, revision, buckets }
      const report = await run(keys, { operation: 'report', ...caller }, signal)
      // The script returns the type of the port, except for empty lists, which Lua encodes as objects.
      const { templates, days, ...rest } = report as LimitReport
      return { ...rest, templates: Array.isArray(templates) ? templates : [], days: Array.isArray(days) ? days : [] }
    },
    async chargeTotal(account, period, signal) {
      // The script returns the type of the port.
      return (await run(keysOf(account, period), { operation: 'chargeTotal' }, signal)) as ChargeTotal
    },
  }
}

/** Runs the script on keys of an account. */
type Run = (keys: readonly string[], request: object, signal: AbortSignal) => Promise<unknown>

function confirming(run: Run): AuditableLimiter['confirm'] {
  return gathered({
    nameOf: (record: RenderRecord) => keysToEnd(record).join(' '),
    async call(records, signal) {
      const renders = records.map((record) => {
        const { id, engine, units, period } = record
        return { id, engine, units, period, heldMode: heldModeOf(record) }
      })
      await run(keysToEnd(records[0]), { operation: 'confirm', renders, holdMs: QUEUE_AGE_MS_MAX }, signal)
    },
  })
}

function completing(redis: RedisConnection, run: Run): AuditableLimiter['completeAll'] {
  return async (manifests, signal) => {
    const groups = new Map<string, Ends>()
    for (const manifest of manifests) {
      const { id } = manifest.render
      const buckets = isAbandoned(manifest) ? await bucketsHeld(redis, manifest.render, signal) : []
      const keys = [...keysToEnd(manifest.render), ...buckets]
      const name = keys.join(' ')
      const group: Ends = groups.get(name) ?? { keys, ends: [] }
      groups.set(name, group)
      const { units, template, day } = chargeOf(manifest) ?? {}
      group.ends.push({ id, units, template, day })
    }
    const completing = { operation: 'complete', templatesMax: CHARGED_TEMPLATES_MAX }
    await Promise.all([...groups.values()].map(({ keys, ends }) => run(keys, { ...completing, ends }, signal)))
  }
}

/** What one call of the script ends. */
interface Ends {
  readonly keys: readonly string[]
  readonly ends: object[]
}

function keyed(buckets: readonly RateBucket[], account: string) {
  return buckets.map(({ name, ...bucket }) => ({ ...bucket, key: bucketKey(account, name) }))
}

/** Reads the buckets in which a render was counted. Its record does not name its key, and a script may only touch keys it was given. */
async function bucketsHeld(
  redis: RedisConnection,
  { account, id, period }: Pick<RenderRecord, 'account' | 'id' | 'period'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [holdings = ''] = keysOf(account, period)
  const text = await redis.call((client) => client.hget(holdings, id), signal)
  if (text === null) return []
  // Only the script writes this value.
  const { entry } = JSON.parse(text) as { entry?: { buckets: readonly string[] } }
  return entry?.buckets ?? []
}

function keysToEnd({ account, period, id }: Pick<RenderRecord, 'account' | 'period' | 'id'>): readonly string[] {
  return [...keysOf(account, period), endedKey(account, id)]
}

function keysOf(account: string, period: string): readonly string[] {
  const prefix = limiterPrefix(account)
  return [`${prefix}:holdings`, `${prefix}:lapses`, `${prefix}:sums`, `${prefix}:charges:${period}`]
}

/**
 * The key of a set of renders that ended without a charge and began in the same nine hours, which the first five characters of an id tell.
 * The set can expire as a whole, and takes half the memory of one key per render.
 */
function endedKey(account: string, id: RenderId | typeof NO_RENDER): string {
  return `${limiterPrefix(account)}:ended:${id.slice(0, 5)}`
}

function bucketKey(account: string, name: string): string {
  return `${limiterPrefix(account)}:rate:${name.replaceAll(' ', ':')}`
}
