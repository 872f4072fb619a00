/**
 * The limiter of several API processes: the algorithm of `contract/src/port/limiter-state.ts` as a script inside Redis. So each decision is
 * one call, and decisions do not interleave. All keys of an account are in one hash slot, and everything expires. If Redis loses its data,
 * rates are generous for one minute. Lanes and reservations are wrong until they are counted anew; charges come back from the event log.
 * Completing a render again changes nothing for as long as its charge is kept.
 */

import {
  CHARGED_TEMPLATES_MAX,
  QUEUE_AGE_MS_MAX,
  RATE_WINDOW_MS,
  RESERVATION_MS,
  VIEW_KEPT_MS,
} from '@platen/contract/domain/limit.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import { chargeOf } from '@platen/contract/port/charge-sums.ts'
import type { AuditableLimiter, ChargeTotal, Decision, LimitReport, Usage } from '@platen/contract/port/limiter.ts'
import {
  bucketsOfCaller,
  heldModeOf,
  type RateBucket,
  rateBucketsOf,
  unitsOf,
} from '@platen/contract/port/limiter-state.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { gathered } from './connect/gather.ts'
import type { RedisConnection } from './connect.ts'
import { CHARGES_KEPT_MS, ENDED_AT_ONCE } from './limit.ts'
import { limiterPrefix, settingsKey } from './limiter-settings.ts'
import { openScript } from './script.ts'

/** The maximum age of a holding, and the minimum for which an end without a charge is remembered. No older record is rendered. */
const KEPT_MS = VIEW_KEPT_MS

/** In the place of an id, for operations without a render. */
const NO_RENDER = ''

interface LimiterOptions {
  /** Absent = the time of Redis, the one clock that all processes share. */
  readonly clock?: Clock
}

export function redisLimiter(redis: RedisConnection, { clock }: LimiterOptions = {}): AuditableLimiter {
  const script = openScript(redis, { file: './limiter.lua', precededBy: './limiter/charge.lua', clock })
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
      // The script returns the types of the port, here and below.
      return decision as Decision
    },
    confirm: confirming(run),
    async complete(end, signal) {
      await completeAll([end], signal)
    },
    completeAll,
    async usage(account, period, signal) {
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
      return (await run(keysOf(account, period), { operation: 'chargeTotal' }, signal)) as ChargeTotal
    },
  }
}

type Run = (keys: readonly string[], request: object, signal: AbortSignal) => Promise<unknown>

function confirming(run: Run): AuditableLimiter['confirm'] {
  return gathered({
    nameOf: (record: RenderRecord) => keysToEnd(record).join(' '),
    async call(records, signal) {
      const renders = records.map((record) => {
        const { id, engine, units, period } = record
        return { id, tail: tailOf(id), engine, units, period, heldMode: heldModeOf(record) }
      })
      await run(keysToEnd(records[0]), { operation: 'confirm', renders, holdMs: QUEUE_AGE_MS_MAX }, signal)
    },
  })
}

function completing(redis: RedisConnection, run: Run): AuditableLimiter['completeAll'] {
  const completing = { operation: 'complete', templatesMax: CHARGED_TEMPLATES_MAX }
  return async (all, signal) => {
    const groups: Ends[] = []
    const open = new Map<string, Ends>()
    for (const end of all) {
      const { account, period, id } = end.render
      const buckets = end.kind === 'abandoned' ? await bucketsHeld(redis, end.render, signal) : []
      const name = [account, period, endedPart(id), ...buckets].join(' ')
      const { units, template, day } = chargeOf(end) ?? {}
      let group = open.get(name)
      if (group === undefined || group.ends.length === ENDED_AT_ONCE) {
        group = { account, period, keys: [...keysToEnd(end.render), ...buckets], ends: [] }
        open.set(name, group)
        groups.push(group)
      }
      group.ends.push({ id, tail: tailOf(id), units, template, day })
    }
    return await Promise.all(
      groups.map(async ({ account, period, keys, ends }) => {
        const total = (await run(keys, { ...completing, ends }, signal)) as ChargeTotal
        return { account, period, ...total }
      }),
    )
  }
}

/** What one call of the script ends. */
interface Ends {
  readonly account: string
  readonly period: string
  readonly keys: readonly string[]
  readonly ends: object[]
}

/**
 * The last 15 characters of an id as two numbers: of nine, and of the six after them. Together they have all random bits of an id; the last
 * six are of its tag alone.
 */
function tailOf(id: RenderId): readonly [number, number] {
  return [numberOf(id, 11, 20), numberOf(id, 20, 26)]
}

function numberOf(id: RenderId, from: number, to: number): number {
  let number = 0
  for (let at = from; at < to; at += 1) number = number * 32 + (DIGITS[id.charCodeAt(at)] ?? 0)
  return number
}

/** By character code: its value in an id. */
const DIGITS = Array.from({ length: 128 }, (_, code) =>
  Math.max(0, '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(String.fromCharCode(code))),
)

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
 * The set of renders that ended without a charge and began in the same nine hours, which the first five characters of an id tell. The set
 * expires as a whole, and takes half the memory of one key per render.
 */
function endedKey(account: string, id: RenderId | typeof NO_RENDER): string {
  return `${limiterPrefix(account)}:ended:${endedPart(id)}`
}

function endedPart(id: RenderId | typeof NO_RENDER): string {
  return id.slice(0, 5)
}

function bucketKey(account: string, name: string): string {
  return `${limiterPrefix(account)}:rate:${name.replaceAll(' ', ':')}`
}
