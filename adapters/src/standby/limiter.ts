/**
 * A limiter for while that of all processes cannot be reached: each process then goes by its share, decided by the same algorithm in
 * its own memory. So no more is admitted in all than the limits say, as far as the number of processes is known; who meets one
 * process only, or an uneven balance, gets less.
 *
 * A rate is never rounded down to nothing: of a limit that is smaller than the number of processes, each admits one. A quota is,
 * because it is money: with five units left and ten processes, none admits a render until the shared limiter is back.
 */
import { type Allowance, bucketsInForce, openAllowance } from '@platen/contract/allowance.ts'
import type { Instant } from '@platen/contract/brand.ts'
import { RATE_WINDOW_MS, RESERVATION_MS } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Decision, Limiter, Reservation, Usage } from '@platen/contract/port/limiter.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { STANDBY_ACCOUNTS_MAX } from '@platen/contract/redis-limit.ts'
import type { Limits } from '@platen/contract/tenant.ts'

export interface StandbyLimiterOptions {
  /** The one that all processes share. */
  readonly limiter: Limiter
  readonly clock: Clock
  /** How many processes there are, as far as is known. */
  readonly replicas: () => number
  /** Called for each call that the shared limiter did not answer. */
  readonly failed: () => void
}

/** What is counted here lasts no longer: the windows of rates and the reservations, which nobody confirms here. */
const KEPT_MS = Math.max(2 * RATE_WINDOW_MS, RESERVATION_MS)

/**
 * Goes by the shared limiter wherever that answers, and by this process's share where it throws `Unavailable`. What is confirmed and
 * settled meanwhile is not an error: whoever claims a render confirms it again, and charges follow from the event log.
 *
 * What was admitted here counts here for its minute, also if the shared limiter has been back in between: were each absence to
 * begin with empty windows, a limiter that comes and goes would admit a share each time.
 */
export function standbyLimiter({ limiter, clock, replicas, failed }: StandbyLimiterOptions): Limiter {
  const tabs = openTabs()
  let here: { readonly allowance: Allowance; usedAt: Instant } | undefined

  const unlessAway = async <T>(call: Promise<T>): Promise<T | undefined> => {
    try {
      return await call
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      failed()
      return undefined
    }
  }
  const reserveHere = (request: Reservation): Decision => {
    const now = clock.now()
    here ??= { allowance: openAllowance(), usedAt: now }
    here.usedAt = now
    const { allowance } = here
    const tab = tabs.of(request)
    const { limit, rates } = shareOf(request, { tab, replicas: replicas() })
    const decision = onTab(tab, { request, allowance, now }, () =>
      allowance.reserve({ ...request, limits: rates }, now),
    )
    const usage = { ...tab.there, reserved: tab.there.reserved + tab.here }
    if (decision.kind === 'admitted') return { ...decision, usage }
    return decision.reason === 'quota' && limit !== undefined ? { ...decision, limit, usage } : decision
  }
  return {
    async reserve(request, signal) {
      const decision = await unlessAway(limiter.reserve(request, signal))
      if (decision === undefined) return reserveHere(request)
      if ('usage' in decision) tabs.learn(request, decision.usage)
      if (here !== undefined && clock.now() - here.usedAt > KEPT_MS) here = undefined
      return decision
    },
    async confirm(record, signal) {
      await unlessAway(limiter.confirm(record, signal))
    },
    async settle(manifest, signal) {
      if (here !== undefined) {
        const { allowance } = here
        const { render } = manifest
        const view = { request: render, allowance, now: clock.now() }
        onTab(tabs.of(render), view, () => allowance.end(manifest, false))
      }
      await unlessAway(limiter.settle(manifest, signal))
    },
    usage: (account, period, signal) => limiter.usage(account, period, signal),
  }
}

/** What an account has used of a month: as the shared limiter last said, and here since then. */
interface Tab {
  readonly there: Usage
  here: number
}

type Month = Pick<Reservation, 'account' | 'period'>

/** The tabs of the accounts that were seen last. One that is not known has used nothing. */
function openTabs() {
  const tabs = new Map<string, Tab>()
  const put = ({ account, period }: Month, tab: Tab): Tab => {
    const name = `${account} ${period}`
    tabs.delete(name)
    tabs.set(name, tab)
    const [oldest] = tabs.keys()
    if (tabs.size > STANDBY_ACCOUNTS_MAX && oldest !== undefined) tabs.delete(oldest)
    return tab
  }
  return {
    of: (month: Month) =>
      put(month, tabs.get(`${month.account} ${month.period}`) ?? { there: { charged: 0, reserved: 0 }, here: 0 }),
    learn: (month: Month, usage: Usage) => void put(month, { there: usage, here: 0 }),
  }
}

/** Does something to the allowance, and puts on the tab what it has reserved or given back by that; what lapses stays on it. */
function onTab<T>(
  tab: Tab,
  { request: { account, period }, allowance, now }: { request: Month; allowance: Allowance; now: Instant },
  act: () => T,
): T {
  const before = allowance.usage(account, period, now).reserved
  const result = act()
  tab.here += allowance.usage(account, period, now).reserved - before
  return result
}

/** Which limits hold for all processes together: each of several has a part of these. */
export type LimitShares<All> = {
  readonly [Name in keyof Required<All>]: Name extends `${string}PerMinute` ? 'divided' : 'divided' | 'tab' | 'whole'
}

/** Every limit stands here: one that is added does not compile until it is said what one of several processes has of it. */
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
  renderTimeoutSeconds: 'whole',
  retentionDays: 'whole',
} as const satisfies LimitShares<Limits>

/** The limits of one process of several, as far as this render meets them. A quota is judged by the tab: to the allowance it is either spent or there is none. */
function shareOf(
  request: Reservation,
  { tab, replicas }: { readonly tab: Tab; readonly replicas: number },
): { readonly limit: number | undefined; readonly rates: Limits } {
  const { limits, units } = request
  const { renderLimitMonthly: limit, ...others } = limits
  const left = limit === undefined ? Number.POSITIVE_INFINITY : limit - tab.there.charged - tab.there.reserved
  const isSpent = tab.here + units > Math.floor(Math.max(left, 0) / replicas)
  // A rate that follows from another is named, too: it follows from the whole of that.
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
