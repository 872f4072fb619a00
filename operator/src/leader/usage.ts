/**
 * What tenants have used of their quota, for their statuses. Reads a few tenants each second, round after round, so that the load on Redis
 * and the API server is small. It writes no status: the reconciler writes the figures with the rest of a status, so the two never overwrite
 * each other. A new leader continues with the figures in the statuses.
 */

import { monthOf } from '@platen/contract/domain/render.ts'
import type { Resource, Uid } from '@platen/contract/domain/resource.ts'
import type { TenantStatus } from '@platen/contract/domain/resource-spec.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import type { Limiter, Usage } from '@platen/contract/port/limiter.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { unpackStatus } from '../reconcile/packed-status.ts'
import type { ResourceCache } from '../reconcile/resource-cache.ts'
import { keyOfResource } from '../reconcile/resource-view.ts'
import { kubernetesTime } from '../reconcile/status.ts'
import {
  USAGE_CONFIRMED_EVERY_MS,
  USAGE_EXACT_AFTER_MS,
  USAGE_READ_EVERY_MS,
  USAGE_READS_AT_ONCE,
  USAGE_SHOWN_MS_MIN,
  USAGE_STEP,
} from './limit.ts'

interface UsageOptions {
  readonly resources: Pick<ResourceCache, 'all'>
  readonly inForce: (uid: Uid) => Tenant | undefined
  readonly limiter: Pick<Limiter, 'usage'>
  /** Called with the key of a tenant whose status must show other figures. */
  readonly onChange: (key: string) => void
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Log
}

interface UsageReader {
  /** The figures that the status of a tenant must show. Undefined if there are none. */
  readonly usageOf: (uid: Uid) => TenantUsage | undefined
  /** Reads round after round. Rejects with the signal's reason when it aborts. */
  readonly run: (signal: AbortSignal) => Promise<never>
}

type TenantUsage = NonNullable<TenantStatus['usage']>
/** Without the limit: a status shows the one in force, not the one at the time of the read. */
type Figures = Omit<TenantUsage, 'limit'>

/** Begins with the figures that the statuses show. */
export function openUsageReader(options: UsageOptions): UsageReader {
  const { resources, inForce, clock } = options
  const shown = figuresIn(resources)
  return {
    usageOf(uid) {
      const figures = shown.get(uid)
      return figures && { ...figures, ...limitOf(inForce(uid)) }
    },
    async run(signal) {
      for (;;) {
        const tenants = tenantsIn(resources)
        const uids = new Set(tenants.map(({ metadata }) => metadata.uid))
        for (const uid of shown.keys()) if (!uids.has(uid)) shown.delete(uid)
        // Also waits in an empty round, which would otherwise loop without a pause.
        let next = 0
        do {
          await clock.sleep(USAGE_READ_EVERY_MS, signal)
          const batch = tenants.slice(next, next + USAGE_READS_AT_ONCE)
          await Promise.all(batch.map((tenant) => readOne(tenant, { ...options, shown }, signal)))
          next += USAGE_READS_AT_ONCE
        } while (next < tenants.length)
      }
    },
  }
}

async function readOne(
  resource: Resource,
  { inForce, limiter, onChange, clock, log, shown }: UsageOptions & { readonly shown: Map<Uid, Figures> },
  signal: AbortSignal,
): Promise<void> {
  const { uid, name } = resource.metadata
  const tenant = inForce(uid)
  // Nothing can be charged to a tenant that was never in force.
  if (tenant === undefined) return
  const now = clock.now()
  const month = monthOf(now)
  try {
    const usage = await limiter.usage(tenant.account, month, signal)
    if (!isWorthShowing({ usage, month, now, limit: tenant.limits.renderLimitMonthly }, shown.get(uid))) return
    shown.set(uid, { month, used: usage.charged, reserved: usage.reserved, readAt: kubernetesTime(now) })
    onChange(keyOfResource(resource))
  } catch (err) {
    signal.throwIfAborted()
    // Figures are for people: without new ones, the last stay, and nothing else waits. The next round reads again.
    if (err instanceof Unavailable) log.debug({ err, tenant: name }, 'usage not read')
    else log.error({ err, tenant: name }, 'usage not read')
  }
}

interface Reading {
  readonly usage: Usage
  readonly month: string
  readonly now: Instant
  readonly limit: number | undefined
}

/**
 * Is a reading worth a write to the API server? Fewer units are no reason: the charges of a month only decrease when Redis lost them, and
 * most of them are back within an hour.
 */
function isWorthShowing({ usage, month, now, limit }: Reading, shown: Figures | undefined): boolean {
  const { charged: used, reserved } = usage
  // Most tenants of a large installation use nothing, so nothing is written for them.
  if (shown === undefined) return used > 0 || reserved > 0
  if (shown.month !== month) return true
  const ageMs = now - Date.parse(shown.readAt)
  // A time ahead of the clock would hold back all figures until then: the clock was set back, or somebody edited the status.
  if (ageMs < 0 || ageMs >= USAGE_CONFIRMED_EVERY_MS) return true
  const isSame = used === shown.used && reserved === shown.reserved
  if (isSame || ageMs < USAGE_SHOWN_MS_MIN) return false
  if (ageMs >= USAGE_EXACT_AFTER_MS) return true
  const isUsedUp = (units: number) => limit !== undefined && units >= limit
  const isAtLimit = isUsedUp(used + reserved) !== isUsedUp(shown.used + shown.reserved)
  return isAtLimit || (used > shown.used && used >= shown.used * (1 + USAGE_STEP))
}

function figuresIn(resources: Pick<ResourceCache, 'all'>): Map<Uid, Figures> {
  const figures = new Map<Uid, Figures>()
  for (const { resource, status } of resources.all()) {
    if (resource.kind !== 'Tenant') continue
    const { usage } = unpackStatus(status)
    if (usage === undefined) continue
    const { limit: _limit, ...others } = usage
    figures.set(resource.metadata.uid, others)
  }
  return figures
}

function tenantsIn(resources: Pick<ResourceCache, 'all'>): readonly Resource[] {
  return resources.all().flatMap(({ resource }) => (resource.kind === 'Tenant' ? [resource] : []))
}

function limitOf(tenant: Tenant | undefined): Pick<TenantUsage, 'limit'> {
  const limit = tenant?.limits.renderLimitMonthly
  return limit === undefined ? {} : { limit }
}
