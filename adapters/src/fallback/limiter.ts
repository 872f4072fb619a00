/**
 * A limiter for the time in which the shared one cannot be reached. Each process then enforces its share of the limits, with the same
 * algorithm in its own memory. All processes together admit no more than the limits say, as far as their number is known. A caller gets
 * less if it reaches only one process, or if the load is uneven.
 *
 * A rate is never rounded down to 0: if a limit is smaller than the number of processes, each process admits one render. A quota is rounded
 * down, because it is money: with five units left and ten processes, no process admits a render until the shared limiter is back.
 */

import { RATE_WINDOW_MS, RESERVATION_MS } from '@platen/contract/domain/limit.ts'
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import type { Manifest } from '@platen/contract/domain/render.ts'
import type { Limits } from '@platen/contract/domain/tenant.ts'
import type { Decision, Limiter, Reservation, Usage } from '@platen/contract/port/limiter.ts'
import { bucketsInForce, type LimiterState, openLimiterState, unitsOf } from '@platen/contract/port/limiter-state.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { openLruCache } from '@platen/lib/lru-cache.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { ignoreUnavailable } from './ignore-unavailable.ts'

/** Accounts and months whose usage a process remembers for an outage of Redis. More than are busy at a time; they take some MB. */
export const FALLBACK_ACCOUNTS_MAX = 10_000

interface FallbackLimiterOptions {
  readonly limiter: Limiter
  readonly clock: Clock
  readonly log: Log
  /** The number of processes that admit renders, as far as is known. Default: 1. */
  readonly replicas?: () => number
}

/** How long local counts matter: the windows of rates, and reservations, which nobody confirms here. */
const KEPT_MS = Math.max(2 * RATE_WINDOW_MS, RESERVATION_MS)

/**
 * Asks the shared limiter, and enforces this process's share where that throws `Unavailable`. `confirm` and `complete` are tried once and
 * do not fail meanwhile: the renderer that claims a render confirms it again, and charges follow from the event log.
 *
 * A render that was admitted here counts here for its minute, even if the shared limiter was back in between. Else a limiter that fails
 * again and again would admit one share at each outage.
 */
export function fallbackLimiter({ limiter, clock, log, replicas = () => 1 }: FallbackLimiterOptions): Limiter {
  const snapshots = openUsageSnapshots()
  let local: { readonly state: LimiterState; usedAt: Instant } | undefined

  const once = (call: Promise<void>, render: Manifest['render']) =>
    ignoreUnavailable(call, { log, fields: logFieldsOf(render) })
  const reserveLocally = (request: Reservation): Decision => {
    const now = clock.now()
    local ??= { state: openLimiterState(), usedAt: now }
    local.usedAt = now
    const { state } = local
    const snapshot = snapshots.of(request)
    const { limit, rates } = shareOf(request, { snapshot, replicas: replicas() })
    const decision = trackReserved(snapshot, { request, state, now }, () =>
      state.reserve({ ...request, limits: rates }, now),
    )
    const usage = { ...snapshot.shared, reserved: snapshot.shared.reserved + snapshot.local }
    return { ...decision, usage, ...(limit !== undefined && { limit }) }
  }
  return {
    ...limiter,
    async reserve(request, signal) {
      try {
        const decision = await limiter.reserve(request, signal)
        snapshots.learn(request, decision.usage)
        if (local !== undefined && clock.now() - local.usedAt > KEPT_MS) local = undefined
        return decision
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
        return reserveLocally(request)
      }
    },
    confirm: (record, signal) => once(limiter.confirm(record, signal), record),
    async complete(end, signal) {
      if (local !== undefined) {
        const { state } = local
        const { render } = end
        const view = { request: render, state, now: clock.now() }
        trackReserved(snapshots.of(render), view, () => state.complete(end, undefined))
      }
      await once(limiter.complete(end, signal), end.render)
    },
  }
}

/** Usage of an account in one month: `shared` as the shared limiter last reported it, `local` what was reserved here since then. */
interface UsageSnapshot {
  readonly shared: Usage
  local: number
}

type Month = Pick<Reservation, 'account' | 'period'>

/** Keeps the usage of the accounts used last. An unknown account has used nothing. */
function openUsageSnapshots() {
  const snapshots = openLruCache<UsageSnapshot>(FALLBACK_ACCOUNTS_MAX)
  const nameOf = ({ account, period }: Month) => `${account} ${period}`
  const learn = (month: Month, shared: Usage) => snapshots.set(nameOf(month), { shared, local: 0 })
  return {
    of: (month: Month) => snapshots.get(nameOf(month)) ?? learn(month, { charged: 0, reserved: 0 }),
    learn,
  }
}

/** Runs `act` on the limiter state, and adds the change in reserved units to the snapshot. Reservations that expire stay in it. */
function trackReserved<T>(
  snapshot: UsageSnapshot,
  { request: { account, period }, state, now }: { request: Month; state: LimiterState; now: Instant },
  act: () => T,
): T {
  const before = state.usage(account, period, now).reserved
  const result = act()
  snapshot.local += state.usage(account, period, now).reserved - before
  return result
}

/** With several processes, each gets a part of the limits that are `divided`. */
export type LimitShares<All> = {
  readonly [Name in keyof Required<All>]: Name extends `${string}PerMinute` ? 'divided' : 'divided' | 'tab' | 'whole'
}

/** Lists every limit, so that a new limit does not compile until its share is decided. */
export const LIMIT_SHARES = {
  syncRateLimitPerMinute: 'divided',
  asyncRateLimitPerMinute: 'divided',
  tenantSyncRateLimitPerMinute: 'divided',
  tenantAsyncRateLimitPerMinute: 'divided',
  rateLimitPerMinute: 'divided',
  htmlRateLimitPerMinute: 'divided',
  asyncFairShare: 'divided',
  renderLimitMonthly: 'tab',
  apiKeysMax: 'whole',
  htmlEngineEnabled: 'whole',
  htmlEngineRenderMultiplier: 'whole',
  javascriptEnabled: 'whole',
  strict: 'whole',
  renderTimeoutSeconds: 'whole',
  requestData: 'whole',
  retentionDays: 'whole',
} as const satisfies LimitShares<Limits>

/** The limits of one of several processes for this render. The snapshot decides on the quota: the limiter state only sees 0 or no limit. */
function shareOf(
  request: Reservation,
  { snapshot, replicas }: { readonly snapshot: UsageSnapshot; readonly replicas: number },
): { readonly limit: number | undefined; readonly rates: Limits } {
  const { limits } = request
  const { renderLimitMonthly: limit, ...others } = limits
  const left =
    limit === undefined ? Number.POSITIVE_INFINITY : limit - snapshot.shared.charged - snapshot.shared.reserved
  const isSpent = snapshot.local + unitsOf(request) > Math.floor(Math.max(left, 0) / replicas)
  // A rate derived from another one is listed too, since it is derived from the undivided one.
  const named: Limits = {
    ...others,
    ...Object.fromEntries(bucketsInForce(request).map(({ field, limit }) => [field, limit])),
  }
  return { limit, rates: { ...named, ...dividedBy(replicas, named), ...(isSpent && { renderLimitMonthly: 0 }) } }
}

function dividedBy(replicas: number, limits: Limits): Partial<Limits> {
  const shares: Readonly<Record<string, string>> = LIMIT_SHARES
  const shareOf = (limit: number) => (limit > 0 ? Math.max(1, Math.floor(limit / replicas)) : 0)
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, limit]) =>
      typeof limit === 'number' && shares[name] === 'divided' ? [[name, shareOf(limit)]] : [],
    ),
  )
}
