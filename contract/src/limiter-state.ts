/**
 * What tenants may still ask for: the one limiter algorithm, without I/O. The embedded service runs it as it is; where the
 * counters are elsewhere, it is the model they are held against.
 */
import type { Instant } from './brand.ts'
import { LEDGER_ENDED_MAX, QUEUE_AGE_MS_MAX, RATE_BUCKETS_SWEPT_EVERY, RESERVATION_MS } from './limit.ts'
import type { Decision, Reservation, Usage } from './port/limiter.ts'
import {
  afterCounting,
  type BucketState,
  countIn,
  isIdle,
  type RateWindow,
  readBucket,
  uncountIn,
} from './rate-window.ts'
import type { Lane, Manifest, Mode, RenderRecord } from './render.ts'
import { isAbandoned } from './render.ts'
import type { RenderId } from './render-id.ts'
import type { Engine } from './render-options.ts'
import { type Limits, TENANT_RATE_TIMES } from './tenant.ts'

export interface LimiterState {
  reserve(request: Reservation, now: Instant): Decision
  confirm(record: Pick<RenderRecord, 'id' | 'account' | 'engine' | 'mode' | 'units' | 'period'>, now: Instant): void
  /** Ends a reservation. `isCharged` says whether its units are to be counted as charged. Twice is once. */
  complete(manifest: Manifest, isCharged: boolean): void
  usage(account: string, period: string, now: Instant): Usage
}

/** A render that holds something: units, and a place among the outstanding. */
interface Holding {
  readonly account: string
  readonly engine: Engine
  readonly mode: Mode
  readonly units: number
  readonly period: string
  /** It lapses by itself then. */
  readonly until: Instant
  /** How it was let in, and where it was counted; absent when it was not seen coming in. */
  readonly entry?: Entry
}

interface Entry {
  readonly decision: Decision
  readonly buckets: readonly string[]
  readonly at: Instant
}

/** An allowance nobody has used of, but for what was charged before. */
export function openLimiterState(
  charged: Iterable<{ account: string; period: string; units: number }> = [],
): LimiterState {
  const buckets = new Map<string, RateWindow>()
  const holdings = openHoldings()
  const charges = new Map<string, number>()
  const ended = openRecentIds()
  let calls = 0

  const charge = (account: string, period: string, units: number) =>
    charges.set(key(account, period), (charges.get(key(account, period)) ?? 0) + units)
  const usage = (account: string, period: string): Usage => ({
    charged: charges.get(key(account, period)) ?? 0,
    reserved: holdings.units(account, period),
  })
  for (const { account, period, units } of charged) charge(account, period, units)

  return {
    reserve(request, now) {
      holdings.expire(now)
      if (++calls % RATE_BUCKETS_SWEPT_EVERY === 0) sweep(buckets, now)
      const known = holdings.of(request.id)?.entry
      if (known !== undefined) return known.decision
      const decided = decide(request, { buckets, usage, now, outstanding: holdings.outstanding })
      if (decided.kind === 'admitted') {
        const names = bucketsInForce(request).map(({ name }) => name)
        for (const name of names) countIn(windowOf(buckets, name), now)
        const entry = { decision: decided, buckets: names, at: now }
        holdings.add(request.id, { ...request, until: now + RESERVATION_MS, entry }, 'provisional')
      }
      return decided
    },
    confirm(record, now) {
      // The word of the queue may come after the render has ended already.
      if (ended.has(record.id)) return
      const { id, account, engine, mode, units, period } = record
      const entry = holdings.of(id)?.entry
      holdings.add(
        id,
        { account, engine, mode, units, period, until: now + QUEUE_AGE_MS_MAX, ...(entry && { entry }) },
        'confirmed',
      )
    },
    complete(manifest, isCharged) {
      const { id, account, period, units } = manifest.render
      if (ended.has(id)) return
      ended.add(id)
      const entry = holdings.of(id)?.entry
      if (entry !== undefined && isAbandoned(manifest)) returnRates(entry, buckets)
      holdings.remove(id)
      if (isCharged) charge(account, period, units)
    },
    usage(account, period, now) {
      holdings.expire(now)
      return usage(account, period)
    },
  }
}

interface LimiterView {
  readonly buckets: Map<string, RateWindow>
  readonly now: Instant
  readonly usage: (account: string, period: string) => Usage
  readonly outstanding: (account: string, engine: Engine) => number
}

/** Looks at everything and counts nothing. */
function decide(request: Reservation, view: LimiterView): Decision {
  const { now } = view
  const states = bucketsInForce(request).map(({ name, limit, reason }) => ({
    reason,
    state: readBucket(view.buckets.get(name) ?? new Map(), limit, now),
  }))
  const rates = states.map(({ state }) => state)
  const full = states.filter(({ state }) => state.retryAfterMs > 0)
  const reason = full.some((bucket) => bucket.reason === 'rate') ? 'rate' : full[0]?.reason
  if (reason !== undefined) {
    const retryAfterMs = Math.max(...full.map(({ state }) => state.retryAfterMs))
    return { kind: 'refused', reason, retryAfterMs, rate: tightest(rates) }
  }
  const limit = request.limits.renderLimitMonthly
  const usage = view.usage(request.account, request.period)
  const isOver = request.units > 0 && limit !== undefined && usage.charged + usage.reserved + request.units > limit
  if (isOver) return { kind: 'refused', reason: 'quota', limit, usage, rate: tightest(rates) }
  const counted = rates.map((state) => ({ ...state, ...afterCounting(state, now) }))
  const used = { ...usage, reserved: usage.reserved + request.units }
  return { kind: 'admitted', lane: chooseLane(request, view), rate: tightest(counted), usage: used }
}

function chooseLane({ mode, account, engine, limits }: Reservation, { outstanding }: LimiterView): Lane {
  if (mode === 'sync') return 'sync'
  return outstanding(account, engine) < limits.asyncFairShare ? 'async' : 'bulk'
}

/** A bucket that a render goes through where its limits have it. */
export interface RateBucket {
  /** Of one account alone. */
  readonly name: string
  /** What it is called in the limits. */
  readonly limit: Extract<keyof Limits, `${string}ateLimitPerMinute`>
  /** What holds where the limits do not name it: another of them, so many times; absent = there is no such bucket then. */
  readonly otherwise?: { readonly limit: 'syncRateLimitPerMinute' | 'asyncRateLimitPerMinute'; readonly times: number }
  readonly reason: 'rate' | 'html_rate'
}

/** The buckets a render may go through. The sandbox has its own: keys belong to one environment, and the tenant's are named by it. */
export function rateBucketsOf(request: Reservation): readonly RateBucket[] {
  const { key: hash, mode, account, environment, engine } = request
  const shared = key('tenant', account, environment, engine)
  const own = mode === 'sync' ? 'syncRateLimitPerMinute' : 'asyncRateLimitPerMinute'
  return [
    { name: key('key', account, hash, mode), limit: own, reason: 'rate' },
    {
      name: key('tenant', account, environment, mode),
      limit: mode === 'sync' ? 'tenantSyncRateLimitPerMinute' : 'tenantAsyncRateLimitPerMinute',
      otherwise: { limit: own, times: TENANT_RATE_TIMES },
      reason: 'rate',
    },
    engine === 'html'
      ? { name: shared, limit: 'htmlRateLimitPerMinute', reason: 'html_rate' }
      : { name: shared, limit: 'rateLimitPerMinute', reason: 'rate' },
  ]
}

/** Those that its limits have, with what they are. `field` is what each is called in the limits. */
export function bucketsInForce(request: Reservation) {
  const { limits } = request
  return rateBucketsOf(request).flatMap(({ name, limit: field, otherwise, reason }) => {
    const limit = limits[field] ?? (otherwise && limits[otherwise.limit] * otherwise.times)
    return limit === undefined ? [] : [{ name, field, limit, reason }]
  })
}

function tightest(states: readonly BucketState[]): { limit: number; remaining: number; resetAt: Instant } {
  const [first, ...rest] = states
  if (first === undefined) throw new RangeError('every render has a bucket')
  const isTighter = (a: BucketState, b: BucketState) =>
    a.remaining < b.remaining || (a.remaining === b.remaining && a.limit < b.limit)
  const { limit, remaining, resetAt } = rest.reduce((best, state) => (isTighter(state, best) ? state : best), first)
  return { limit, remaining, resetAt }
}

/** Holdings with their sums kept up to date, so that no decision has to add up a long queue. */
function openHoldings() {
  const all = new Map<RenderId, Holding>()
  const queues = { provisional: openExpiryQueue(), confirmed: openExpiryQueue() }
  const units = new Map<string, number>()
  const outstanding = new Map<string, number>()

  const add = (sums: Map<string, number>, name: string, amount: number) => {
    const sum = (sums.get(name) ?? 0) + amount
    if (sum === 0) sums.delete(name)
    else sums.set(name, sum)
  }
  const addToSums = ({ account, engine, mode, period, ...holding }: Holding, sign: 1 | -1) => {
    add(units, key(account, period), sign * holding.units)
    if (mode === 'async') add(outstanding, key(account, engine), sign)
  }
  const remove = (id: RenderId) => {
    const holding = all.get(id)
    if (holding === undefined) return
    all.delete(id)
    for (const queue of Object.values(queues)) queue.ids.delete(id)
    addToSums(holding, -1)
  }

  return {
    of: (id: RenderId): Holding | undefined => all.get(id),
    units: (account: string, period: string): number => units.get(key(account, period)) ?? 0,
    outstanding: (account: string, engine: Engine): number => outstanding.get(key(account, engine)) ?? 0,
    remove,
    /** Adds or replaces. */
    add(id: RenderId, holding: Holding, kind: keyof typeof queues): void {
      remove(id)
      all.set(id, holding)
      queues[kind].ids.set(id, holding.until)
      queues[kind].due = Math.min(queues[kind].due, holding.until)
      addToSums(holding, 1)
    },
    expire(now: Instant): void {
      for (const queue of Object.values(queues)) if (queue.due <= now) expire(queue, now)
    },
  }

  function expire(queue: ExpiryQueue, now: Instant): void {
    queue.due = Number.POSITIVE_INFINITY
    for (const [id, until] of queue.ids) {
      if (until > now) {
        queue.due = until
        return
      }
      remove(id)
    }
  }
}

/** When each holding lapses, in that order: all of a kind live equally long. */
interface ExpiryQueue {
  readonly ids: Map<RenderId, Instant>
  /** None lapses before then, so that nobody looks, which means walking over all that was deleted. */
  due: Instant
}

function openExpiryQueue(): ExpiryQueue {
  return { ids: new Map(), due: Number.POSITIVE_INFINITY }
}

function sweep(buckets: Map<string, RateWindow>, now: Instant): void {
  for (const [name, window] of buckets) if (isIdle(window, now)) buckets.delete(name)
}

function returnRates({ buckets: names, at }: Entry, buckets: Map<string, RateWindow>): void {
  for (const name of names) uncountIn(windowOf(buckets, name), at)
}

function windowOf(buckets: Map<string, RateWindow>, name: string): RateWindow {
  const window = buckets.get(name) ?? new Map()
  buckets.set(name, window)
  return window
}

/**
 * The ids it was told last, `LEDGER_SETTLED_MAX` at least and twice as many at most: enough to know a repetition, which comes soon
 * if at all. Two sets take turns, as finding the oldest of one means walking over all that was deleted before it.
 */
function openRecentIds() {
  let [recent, older] = [new Set<RenderId>(), new Set<RenderId>()]
  return {
    has: (id: RenderId): boolean => recent.has(id) || older.has(id),
    add(id: RenderId): void {
      if (recent.size === LEDGER_ENDED_MAX) [recent, older] = [new Set(), recent]
      recent.add(id)
    },
  }
}

/** No part holds a blank. */
function key(...parts: readonly string[]): string {
  return parts.join(' ')
}
