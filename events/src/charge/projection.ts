/**
 * Builds the views in Redis from the event log: the charges of each account, and the renders that have ended. The process that ends a
 * render updates both views itself, and sooner. This projection makes up for failed updates, so that nobody must wait for them, and
 * rebuilds the views when Redis has lost them.
 *
 * Redis can also lose a part of the views, by eviction or by hand. So an audit reads the charges of the accounts from time to time. If a
 * charge has shrunk, or belongs to a new count, everything is rebuilt.
 */

import type { RenderEvent } from '@platen/contract/domain/event.ts'
import { VIEW_KEPT_MS } from '@platen/contract/domain/limit.ts'
import { type Ended, monthOf } from '@platen/contract/domain/render.ts'
import type { EventBatch } from '@platen/contract/port/event-log.ts'
import type { AuditableLimiter, ChargeTotal, MonthTotal } from '@platen/contract/port/limiter.ts'
import type { ProjectionMeter } from '@platen/contract/port/projection-meter.ts'
import type { RestorableRenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { raceFirst, throwUnlessAborted } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { type AppliedBatch, applyEvents, type ReplayPorts } from '../replay.ts'
import { CHARGES_AUDITED_EVERY_MS } from './limit.ts'

/**
 * Events that one step applies with shared calls: as many as one fetch of the log brings. They take ten microseconds of Redis per event for
 * a hundred accounts, and thirty if each event has its own account.
 */
const PROJECTED_AT_ONCE = 1500

export interface ProjectionPorts extends ReplayPorts {
  readonly limiter: Pick<AuditableLimiter, 'completeAll' | 'chargeTotal'>
  readonly ledger: Pick<RestorableRenderLedger, 'completeAll'>
  readonly meter: ProjectionMeter
}

export const PROJECTION_READER = 'projection'

/**
 * Keeps the views equal to the event log until `signal` aborts. Any number of processes may run it; they share the log. Rejects only
 * because of a defect.
 */
export async function runProjection(ports: ProjectionPorts, signal: AbortSignal): Promise<void> {
  const project = (until: AbortSignal) => {
    const apply = (batches: readonly EventBatch[]) => applyAll(ports, batches, until)
    return applyEvents({ reader: PROJECTION_READER, apply }, ports, until)
  }
  const parts = [project, (until: AbortSignal) => auditRegularly(ports, until)]
  await raceFirst(parts, signal).catch(throwUnlessAborted(signal))
}

/** Returns what the accounts of each batch are charged by now. */
async function applyAll(
  ports: ProjectionPorts,
  batches: readonly EventBatch[],
  signal: AbortSignal,
): Promise<readonly AppliedBatch[]> {
  const now = ports.clock.now()
  const period = monthOf(now)
  const events = batches.flatMap((batch) => batch.events)
  const totals = new Map<string, Map<string, number>>()
  for (let from = 0; from < events.length; from += PROJECTED_AT_ONCE) {
    const applied = await apply(ports, events.slice(from, from + PROJECTED_AT_ONCE), { now, signal })
    for (const total of applied.filter((each) => each.period === period)) note(totals, total)
  }
  return batches.map((batch) => {
    const charged = batch.events.filter((event) => isCharged(event, period))
    const accounts = new Set(charged.map(({ manifest }) => manifest.render.account))
    return { period, charged: new Map([...accounts].flatMap((account) => [...(totals.get(account) ?? [])])) }
  })
}

/**
 * Notes a total under the name of its count, if anything is charged. If its charges were lost meanwhile, an account has several names, and
 * the audit misses one of them.
 */
function note(totals: Map<string, Map<string, number>>, total: MonthTotal): void {
  if (total.count === undefined) return
  const { account, charged } = total
  const name = chargeName(account, total)
  const ofAccount = totals.get(account) ?? new Map<string, number>()
  totals.set(account, ofAccount.set(name, Math.max(charged, ofAccount.get(name) ?? 0)))
}

/**
 * Applies events to the views that can still use them. Skips renders older than `VIEW_KEPT_MS`, except for charges of the current month.
 * Returns the charges of the accounts afterwards.
 */
async function apply(
  { limiter, ledger }: ProjectionPorts,
  events: readonly RenderEvent[],
  { now, signal }: { readonly now: Instant; readonly signal: AbortSignal },
): Promise<readonly MonthTotal[]> {
  const isRecent = ({ manifest }: RenderEvent) => manifest.outcome.finishedAt > now - VIEW_KEPT_MS
  const recent = events.filter(isRecent)
  const charged = events.filter((event) => isRecent(event) || isCharged(event, monthOf(now)))
  const [totals] = await Promise.all([
    limiter.completeAll(charged.map(manifestOf), signal),
    ledger.completeAll(recent.map(manifestOf), signal),
  ])
  return totals
}

function manifestOf({ manifest }: RenderEvent): Ended {
  return manifest
}

function isCharged({ manifest: { render, outcome } }: RenderEvent, period: string): boolean {
  return outcome.status === 'succeeded' && render.units > 0 && render.period === period
}

async function auditRegularly(ports: ProjectionPorts, signal: AbortSignal): Promise<void> {
  const { clock, log } = ports
  for (;;) {
    await clock.sleep(CHARGES_AUDITED_EVERY_MS, signal).catch(() => undefined)
    if (signal.aborted) return
    // The next audit tries again.
    await audit(ports, signal).catch((err: unknown) => {
      if (!(err instanceof Unavailable)) throw err
      log.debug({ err }, 'charge audit skipped')
    })
  }
}

async function audit({ checkpoints, limiter, clock, log }: ProjectionPorts, signal: AbortSignal): Promise<void> {
  const period = monthOf(clock.now())
  const known = await checkpoints.charged(period, signal)
  let lost = 0
  await forEachConcurrently(known.units, PROJECTED_AT_ONCE, async ([name, units]) => {
    const [account = ''] = name.split(' ', 1)
    const total = await limiter.chargeTotal(account, period, signal)
    if (total.charged < units || chargeName(account, total) !== name) lost += 1
  })
  if (lost === 0) return
  log.warn({ accounts: lost }, 'redis lost charges, rebuilding from events')
  await checkpoints.forget(known, signal)
}

/** Names a total by its account and its count. By the account alone, a lost total would look complete once new charges exceed it. */
function chargeName(account: string, { count = '' }: ChargeTotal): string {
  return `${account} ${count}`
}
