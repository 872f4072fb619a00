/**
 * The limiter algorithm, without I/O. The embedded service runs it directly. Limiters that keep their counters elsewhere are tested against
 * it.
 */
import type { Instant } from '@platen/lib/brand.ts'
import { LEDGER_ENDED_MAX, QUEUE_AGE_MS_MAX, RATE_BUCKETS_SWEPT_EVERY, RESERVATION_MS } from '../domain/limit.ts'
import type { Lane, Mode, RenderRecord } from '../domain/render.ts'
import type { RenderId } from '../domain/render-id.ts'
import type { Engine } from '../domain/render-options.ts'
import { type Limits, TENANT_RATE_TIMES } from '../domain/tenant.ts'
import { type Charge, type ChargeSum, openChargeSums } from './charge-sums.ts'
import type {
  AccountedEnd,
  Decision,
  LimitReport,
  NamedRate,
  QuotaState,
  RateLimit,
  ReportQuery,
  Reservation,
  Usage,
} from './limiter.ts'
import {
  afterCounting,
  type BucketState,
  countIn,
  isIdle,
  type RateWindow,
  readBucket,
  uncountIn,
} from './rate-window.ts'

export interface LimiterState {
  reserve(request: Reservation, now: Instant): Decision
  confirm(
    record: Pick<RenderRecord, 'id' | 'account' | 'engine' | 'mode' | 'batch' | 'units' | 'period'>,
    now: Instant,
  ): void
  /** Idempotent. */
  complete(end: AccountedEnd, charge: Charge | undefined): void
  usage(account: string, period: string, now: Instant): Usage
  report(query: ReportQuery, now: Instant): LimitReport
}

/** A render that holds units and counts as outstanding. */
interface Holding {
  readonly account: string
  readonly engine: Engine
  readonly mode: HeldMode
  readonly units: number
  readonly period: string
  /** When the holding expires by itself. */
  readonly until: Instant
  /** The admission and the buckets it counts in. Absent if this limiter did not admit the render. */
  readonly entry?: Entry
}

/** Renders of a batch are in the bulk lane, so they take no share of the async lane. */
type HeldMode = Mode | 'batch'

export function heldModeOf({ mode, batch }: Pick<RenderRecord, 'mode' | 'batch'>): HeldMode {
  return batch === undefined ? mode : 'batch'
}

interface Entry {
  readonly decision: Decision
  readonly buckets: readonly string[]
  readonly at: Instant
}

/** `charged` are the charges so far. */
export function openLimiterState(charged: Iterable<ChargeSum> = []): LimiterState {
  const buckets = new Map<string, RateWindow>()
  const holdings = openHoldings()
  const charges = openChargeSums(charged)
  const ended = openRecentIds()
  let calls = 0

  const usage = (account: string, period: string): Usage => ({
    charged: charges.units(account, period),
    reserved: holdings.units(account, period),
  })

  return {
    reserve(request, now) {
      holdings.expire(now)
      if (++calls % RATE_BUCKETS_SWEPT_EVERY === 0) sweep(buckets, now)
      const known = holdings.of(request.id)?.entry
      if (known !== undefined) return known.decision
      const inForce = bucketsInForce(request)
      const decided = decide(request, { buckets, inForce, usage, now, outstanding: holdings.outstanding })
      if (decided.kind === 'admitted') {
        const names = inForce.map(({ name }) => name)
        for (const name of names) countIn(windowOf(buckets, name), now)
        const entry = { decision: decided, buckets: names, at: now }
        const holding = reservedBy(request, now)
        holdings.add(request.id, { ...holding, entry }, 'provisional')
        for (const id of request.others ?? []) holdings.add(id, holding, 'provisional')
      }
      return decided
    },
    confirm(record, now) {
      // The queue may confirm a render after it has ended.
      if (ended.has(record.id)) return
      const { id, account, engine, units, period } = record
      const entry = holdings.of(id)?.entry
      const held = { account, engine, mode: heldModeOf(record), units, period, until: now + QUEUE_AGE_MS_MAX }
      holdings.add(id, { ...held, ...(entry && { entry }) }, 'confirmed')
    },
    complete({ kind, render }, charge) {
      const { id } = render
      if (ended.has(id)) return
      ended.add(id)
      const entry = holdings.of(id)?.entry
      if (entry !== undefined && kind === 'abandoned') returnRates(entry, buckets)
      holdings.remove(id)
      if (charge !== undefined) charges.add(charge)
    },
    usage(account, period, now) {
      holdings.expire(now)
      return usage(account, period)
    },
    report(query, now) {
      holdings.expire(now)
      const { account, period, limits } = query
      const rates = ratesOf(query, buckets, now)
      return { ...quotaOf(limits, usage(account, period)), rates, ...charges.counts(account, period) }
    },
  }
}

/** Held by each render of the reservation. */
function reservedBy({ account, engine, units, period, ...request }: Reservation, now: Instant): Holding {
  const mode = request.others === undefined ? request.mode : 'batch'
  return { account, engine, mode, units, period, until: now + RESERVATION_MS }
}

interface LimiterView {
  readonly buckets: Map<string, RateWindow>
  readonly inForce: ReturnType<typeof bucketsInForce>
  readonly now: Instant
  readonly usage: (account: string, period: string) => Usage
  readonly outstanding: (account: string, engine: Engine) => number
}

/** Checks all limits and counts nothing. */
function decide(request: Reservation, view: LimiterView): Decision {
  const { now } = view
  const states = view.inForce.map(({ name, limit, reason }) => ({
    reason,
    state: readBucket(view.buckets.get(name) ?? new Map(), limit, now),
  }))
  const rates = states.map(({ state }) => state)
  const usage = view.usage(request.account, request.period)
  const full = states.filter(({ state }) => state.retryAfterMs > 0)
  const reason = full.some((bucket) => bucket.reason === 'rate') ? 'rate' : full[0]?.reason
  if (reason !== undefined) {
    const retryAfterMs = Math.max(...full.map(({ state }) => state.retryAfterMs))
    return { kind: 'refused', reason, retryAfterMs, rate: tightest(rates), ...quotaOf(request.limits, usage) }
  }
  const limit = request.limits.renderLimitMonthly
  const units = unitsOf(request)
  const isOver = units > 0 && limit !== undefined && usage.charged + usage.reserved + units > limit
  if (isOver) return { kind: 'refused', reason: 'quota', limit, usage, rate: tightest(rates) }
  const counted = rates.map((state) => ({ ...state, ...afterCounting(state, now) }))
  const used = { ...usage, reserved: usage.reserved + units }
  const quota = quotaOf(request.limits, used)
  return { kind: 'admitted', lane: chooseLane(request, view), rate: tightest(counted), ...quota }
}

export function unitsOf({ units, others = [] }: Pick<Reservation, 'units' | 'others'>): number {
  return units * (1 + others.length)
}

function ratesOf(query: ReportQuery, buckets: ReadonlyMap<string, RateWindow>, now: Instant): readonly NamedRate[] {
  return bucketsOfCaller(query).flatMap((bucket) => {
    const limit = limitOf(bucket, query.limits)
    if (limit === undefined) return []
    const { remaining, resetAt } = readBucket(buckets.get(bucket.name) ?? new Map(), limit, now)
    return [{ name: bucket.limit, limit, remaining, resetAt }]
  })
}

function quotaOf({ renderLimitMonthly: limit }: Limits, usage: Usage): QuotaState {
  return limit === undefined ? { usage } : { limit, usage }
}

function chooseLane({ mode, account, engine, limits }: Reservation, { outstanding }: LimiterView): Lane {
  if (mode === 'sync') return 'sync'
  return outstanding(account, engine) < limits.asyncFairShare ? 'async' : 'bulk'
}

/**
 * Renders that count in the bucket of a rate: those of this mode or engine, of one key or of all keys of a tenant's environment. Both name
 * the bucket, so each rate has its own.
 */
interface Rate {
  readonly of: Mode | Engine
  readonly per: 'key' | 'tenant'
  /** Used if the limits do not name the rate: another limit, times a factor. Absent = then there is no such bucket. */
  readonly otherwise?: { readonly limit: 'syncRateLimitPerMinute' | 'asyncRateLimitPerMinute'; readonly times: number }
  readonly reason: 'rate' | 'html_rate'
}

/** A new rate does not compile until this table says what counts in its bucket. */
export const RATES: Readonly<Record<RateLimit, Rate>> = {
  syncRateLimitPerMinute: { of: 'sync', per: 'key', reason: 'rate' },
  asyncRateLimitPerMinute: { of: 'async', per: 'key', reason: 'rate' },
  tenantSyncRateLimitPerMinute: {
    of: 'sync',
    per: 'tenant',
    otherwise: { limit: 'syncRateLimitPerMinute', times: TENANT_RATE_TIMES },
    reason: 'rate',
  },
  tenantAsyncRateLimitPerMinute: {
    of: 'async',
    per: 'tenant',
    otherwise: { limit: 'asyncRateLimitPerMinute', times: TENANT_RATE_TIMES },
    reason: 'rate',
  },
  htmlRateLimitPerMinute: { of: 'html', per: 'tenant', reason: 'html_rate' },
  rateLimitPerMinute: { of: 'react_pdf', per: 'tenant', reason: 'rate' },
}

export interface RateBucket extends Pick<Rate, 'otherwise' | 'reason'> {
  /** Unique across accounts. */
  readonly name: string
  /** The field of the limits. */
  readonly limit: RateLimit
}

/** The buckets a render may count in. The sandbox has its own: keys belong to one environment, and the tenant's buckets name it. */
export function rateBucketsOf(request: Reservation): readonly RateBucket[] {
  const { mode, engine } = request
  return bucketsOf(
    request,
    RATE_LIST.filter(({ of }) => of === mode || of === engine),
  )
}

/** For all renders that the caller may ask for. */
export function bucketsOfCaller(caller: BucketOwner): readonly RateBucket[] {
  return bucketsOf(caller, RATE_LIST)
}

// The keys of the table are rates.
const RATE_LIST = Object.entries(RATES).map(([limit, rate]) => ({ ...rate, limit: limit as RateLimit }))

type BucketOwner = Pick<Reservation, 'key' | 'account' | 'environment'>

function bucketsOf({ key: hash, account, environment }: BucketOwner, rates: typeof RATE_LIST): readonly RateBucket[] {
  return rates.map(({ of, per, ...bucket }) => ({
    name: key(per, account, per === 'key' ? hash : environment, of),
    ...bucket,
  }))
}

function limitOf({ limit, otherwise }: Pick<RateBucket, 'limit' | 'otherwise'>, limits: Limits): number | undefined {
  return limits[limit] ?? (otherwise && limits[otherwise.limit] * otherwise.times)
}

/** The buckets whose limit is set. `field` is the name of that limit. */
export function bucketsInForce(request: Reservation) {
  const { limits } = request
  return rateBucketsOf(request).flatMap((bucket) => {
    const { name, limit: field, reason } = bucket
    const limit = limitOf(bucket, limits)
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

/** Keeps running sums, so that no decision has to add up a long queue. */
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

/** Expiry times of one kind of holdings. They are in order, because all of a kind live equally long. */
interface ExpiryQueue {
  readonly ids: Map<RenderId, Instant>
  /** No holding expires before this time. Saves a search of the map, which would walk over all deleted entries. */
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
 * The last ids added: at least `LEDGER_ENDED_MAX`, at most twice as many. Enough to detect a repetition, which comes soon if at all. Two
 * sets alternate: finding the oldest entry of one would walk over all deleted entries before it.
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

/** No part contains a space. */
function key(...parts: readonly string[]): string {
  return parts.join(' ')
}
