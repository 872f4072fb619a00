/**
 * Makes the views in Redis from the event log: what accounts are charged, and which renders have ended. Who ends a render tells both as
 * well, and sooner; this is why nobody has to wait for it, and how they come back when Redis has lost them.
 *
 * How far it is stands in Redis beside the views, written after what it stands for: emptied, it begins with the first event there is;
 * come back as it was an hour ago, it goes on from there. To apply an event again changes nothing, so at every doubt it is done again.
 * Less than all can be lost as well, by eviction or by hand: so what accounts were charged is looked at from time to time, and where it
 * has become less, or is counted anew, all begins anew.
 */
import type { Instant } from '@platen/contract/brand.ts'
import type { RenderEvent } from '@platen/contract/event.ts'
import type { Checkpoint, Checkpoints } from '@platen/contract/port/checkpoint.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { EventBatch, ReplayableLog, ReplayStart } from '@platen/contract/port/event-log.ts'
import type { AuditableLimiter, ChargeTotal } from '@platen/contract/port/limiter.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { ProjectionMeter } from '@platen/contract/port/projection-meter.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import {
  CHARGES_AUDITED_EVERY_MS,
  PROJECTED_AT_ONCE,
  PROJECTION_RETRY_MS,
  VIEW_KEPT_MS,
} from '@platen/contract/redis-limit.ts'
import { monthOf } from '@platen/contract/render.ts'

export interface ProjectionPorts {
  readonly events: ReplayableLog
  readonly checkpoints: Checkpoints
  readonly limiter: Pick<AuditableLimiter, 'complete' | 'chargeTotal'>
  readonly ledger: Pick<RenderLedger, 'complete'>
  readonly meter: ProjectionMeter
  readonly clock: Clock
  readonly log: Log
}

/** The name under which the event log is read. */
export const PROJECTION_READER = 'projection'

/** Keeps the views as the event log has it until `signal` aborts. Any number of processes may, and share the log. Rejects by a defect alone. */
export async function runProjection(ports: ProjectionPorts, signal: AbortSignal): Promise<void> {
  const ended = new AbortController()
  const stopping = AbortSignal.any([signal, ended.signal])
  // Neither is left behind by the other, and what ends one by a defect is the reason for both.
  const endingBoth = (step: Promise<void>) =>
    step.then(
      () => ended.abort(),
      (error: unknown) => {
        ended.abort(error)
        throw error
      },
    )
  const endings = await Promise.allSettled([project, auditRegularly].map((step) => endingBoth(step(ports, stopping))))
  for (const ending of endings) if (ending.status === 'rejected' && !signal.aborted) throw ending.reason
}

async function project(ports: ProjectionPorts, signal: AbortSignal): Promise<void> {
  const { events, checkpoints, meter, log } = ports
  const held = new Map<number, Checkpoint>()
  const begin: ReplayStart = async (partition, range) => {
    const checkpoint = await retryWhileUnavailable(ports, () => checkpoints.begin(partition, range, signal), signal)
    const before = held.get(partition)
    if (before !== undefined && checkpoint.offset < before.offset) {
      meter.rebuildStarted()
      log.warn({ partition, offset: checkpoint.offset, before: before.offset }, 'projection rebuild started')
    }
    held.set(partition, checkpoint)
    return checkpoint.offset
  }
  for await (const batches of events.replay(PROJECTION_READER, begin, signal)) {
    const advanced = await retryWhileUnavailable(
      ports,
      () => applyAll(ports, { batches, checkpoints: held, signal }),
      signal,
    )
    batches.forEach((span, at) => {
      const checkpoint = advanced[at]
      if (checkpoint === undefined) return span.rewind()
      held.set(span.partition, checkpoint)
      span.done()
    })
    meter.applied(batches.reduce((sum, span, at) => sum + (advanced[at] === undefined ? 0 : span.events.length), 0))
  }
}

interface BatchContext {
  readonly batches: readonly EventBatch[]
  readonly checkpoints: ReadonlyMap<number, Checkpoint>
  readonly signal: AbortSignal
}

/** Applies what was read, and then says so. Undefined for a partition that is to begin again. May be run twice. */
async function applyAll(
  ports: ProjectionPorts,
  { batches, checkpoints: held, signal }: BatchContext,
): Promise<readonly (Checkpoint | undefined)[]> {
  const { checkpoints, limiter, clock } = ports
  const now = clock.now()
  const period = monthOf(now)
  await forEachConcurrently(
    batches.flatMap(({ events }) => events),
    (event) => apply(ports, { event, now, signal }),
  )
  const totals = new Map<string, Promise<ChargeTotal>>()
  const totalOf = (account: string) => {
    const known = totals.get(account) ?? limiter.chargeTotal(account, period, signal)
    totals.set(account, known)
    return known
  }
  return await Promise.all(
    batches.map(async ({ partition, events, to }) => {
      const accounts = new Set(
        events.filter((event) => isCharged(event, period)).map(({ manifest }) => manifest.render.account),
      )
      const charged = await Promise.all(
        [...accounts].map(async (account) => {
          const tally = await totalOf(account)
          return [chargeName(account, tally), tally.charged] as const
        }),
      )
      const checkpoint = held.get(partition)
      if (checkpoint === undefined) return undefined
      return await checkpoints.advance(checkpoint, { to, period, charged: new Map(charged) }, signal)
    }),
  )
}

interface EventContext {
  readonly event: RenderEvent
  readonly now: Instant
  readonly signal: AbortSignal
}

/** Puts an event into the views that can still have use for it: nothing is asked of a month that is over, nor of a render that is long forgotten. */
async function apply({ limiter, ledger }: ProjectionPorts, { event, now, signal }: EventContext): Promise<void> {
  const { manifest } = event
  const isRecent = manifest.outcome.finishedAt > now - VIEW_KEPT_MS
  const charging = isRecent || isCharged(event, monthOf(now)) ? limiter.complete(manifest, signal) : undefined
  await Promise.all([charging, isRecent ? ledger.complete(manifest, signal) : undefined])
}

function isCharged({ manifest: { render, outcome } }: RenderEvent, period: string): boolean {
  return outcome.status === 'succeeded' && render.units > 0 && render.period === period
}

/** Looks from time to time whether accounts are charged less than they were. */
async function auditRegularly(ports: ProjectionPorts, signal: AbortSignal): Promise<void> {
  const { clock, log } = ports
  for (;;) {
    await clock.sleep(CHARGES_AUDITED_EVERY_MS, signal).catch(() => undefined)
    if (signal.aborted) return
    // The next time will do.
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
  await forEachConcurrently([...known.units], async ([name, units]) => {
    const [account = ''] = name.split(' ', 1)
    const tally = await limiter.chargeTotal(account, period, signal)
    if (tally.charged < units || chargeName(account, tally) !== name) lost += 1
  })
  if (lost === 0) return
  log.warn({ accounts: lost }, 'lost charges detected')
  await checkpoints.forget(known, signal)
}

/** What is written down of an account stands under its count as well: one that was lost and outgrown would look as if nothing was. */
function chargeName(account: string, { count = '' }: ChargeTotal): string {
  return `${account} ${count}`
}

/** Does something with many, some at a time. Rejects when all of those have ended that were begun. */
async function forEachConcurrently<T>(items: readonly T[], step: (item: T) => Promise<void>): Promise<void> {
  // All workers draw from the one iterator, so each item is taken once.
  const waiting = items.values()
  const work = async () => {
    for (const item of waiting) await step(item)
  }
  const endings = await Promise.allSettled(Array.from({ length: PROJECTED_AT_ONCE }, work))
  for (const ending of endings) if (ending.status === 'rejected') throw ending.reason
}

/** Repeats a step for as long as Redis is away. */
async function retryWhileUnavailable<T>(
  { clock, log }: Pick<ProjectionPorts, 'clock' | 'log'>,
  step: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await step()
    } catch (err) {
      if (!(err instanceof Unavailable)) throw err
      if (tries === 1) log.warn({ err }, 'projection paused, redis unavailable')
      await clock.sleep(PROJECTION_RETRY_MS, signal)
    }
  }
}
