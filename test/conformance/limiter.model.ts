/**
 * A slow and simple model of a limiter's quota and lanes, and random walks that compare a limiter with it. The model has no rates: the rate
 * limits in these requests are never reached.
 */
import { randomUUID } from 'node:crypto'
import { QUEUE_AGE_MS_MAX, RESERVATION_MS } from '@platen/contract/domain/limit.ts'
import type { Lane, RenderRecord } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Decision, Limiter, Reservation, Usage } from '@platen/contract/port/limiter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import * as fc from 'fast-check'
import { expect } from 'vitest'
import { aFailure, aManifest, aRenderId, aReservation, recordOf } from '../fixture/build.ts'
import type { Harness } from './harness.ts'

/** The fields of a reservation that a test may set, without the limits. */
export type Fields = Partial<Omit<Reservation, 'limits'>>

export const kindOf = (decision: Decision) => (decision.kind === 'admitted' ? 'admitted' : decision.reason)

export interface LimiterHarness extends Harness<Limiter> {
  readonly clock: Clock
  advance(ms: number): Promise<void>
  /** The durable queue, for limiters that restore their reservations from it when they open. */
  readonly queue?: {
    add(record: RenderRecord, signal: AbortSignal): Promise<void>
    remove(id: RenderId, signal: AbortSignal): Promise<void>
  }
}

const LIMITS = { asyncRateLimitPerMinute: 1_000_000, renderLimitMonthly: 6, asyncFairShare: 2 }
const PERIODS = ['2026-11', '2026-12']

/** A step on one of a dozen renders, or on all. */
export type Step =
  | { readonly kind: 'reserve' | 'confirm' | 'succeed' | 'fail' | 'done'; readonly which: number }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'reopen' }

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      kind: fc.constantFrom('reserve', 'reserve', 'confirm', 'succeed', 'fail', 'done'),
      which: fc.nat(11),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait'),
      ms: fc.constantFrom(1, RESERVATION_MS - 1, RESERVATION_MS, QUEUE_AGE_MS_MAX - 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen') }) },
)

interface Known {
  readonly request: Reservation
  /** Until then the render holds its units and its place in the fair share. */
  heldUntil?: number | undefined
  /** Its lane while the reservation lasts. Undefined when a restart has lost the lane. */
  lane?: Lane | undefined
  isQueued: boolean
  outcome?: 'succeeded' | 'failed'
  /** Has `complete` been called since the last start? */
  isSettled: boolean
}

/** Takes a dozen renders of two accounts through the steps. Compares limiter and model after each step. */
export async function walk(harness: LimiterHarness, opened: Limiter, steps: readonly Step[]): Promise<Limiter> {
  const signal = AbortSignal.timeout(30_000)
  const renders = someRenders()
  let limiter = opened
  for (const step of steps) {
    if (step.kind === 'wait') await harness.advance(step.ms)
    else if (step.kind === 'reopen') limiter = await restart(harness, limiter, renders)
    else await take(step.kind, renders[step.which], { harness, limiter, renders, signal })
    await compare(renders, { harness, limiter, signal })
  }
  return limiter
}

function someRenders(): readonly Known[] {
  const accounts = [randomUUID(), randomUUID()]
  return Array.from({ length: 12 }, (_, i) => ({
    request: aReservation({
      id: aRenderId(),
      account: accounts[i % 2] ?? '',
      period: PERIODS[i < 9 ? 0 : 1] ?? '',
      engine: i % 3 === 0 ? 'html' : 'react_pdf',
      mode: i % 4 === 3 ? 'sync' : 'async',
      units: i % 4,
      limits: { ...LIMITS, syncRateLimitPerMinute: 1_000_000, htmlRateLimitPerMinute: 1_000_000 },
    }),
    isQueued: false,
    isSettled: false,
  }))
}

interface World {
  readonly harness: LimiterHarness
  readonly limiter: Limiter
  readonly renders: readonly Known[]
  readonly signal: AbortSignal
}

async function take(
  kind: 'reserve' | 'confirm' | 'succeed' | 'fail' | 'done',
  known: Known | undefined,
  { harness, limiter, renders, signal }: World,
): Promise<void> {
  if (known === undefined) return
  const { request } = known
  const record = recordOf(request)
  const now = harness.clock.now()
  const wasLive = isLive(known, now)
  switch (kind) {
    case 'reserve': {
      // Callers never reserve an ended render, or one that was admitted before a restart.
      if (known.outcome !== undefined || (wasLive && known.lane === undefined)) return
      const lane = wasLive ? known.lane : laneFor(request, renders, now)
      const decision = await limiter.reserve(request, signal)
      expect(decision.kind === 'admitted' ? decision.lane : undefined).toBe(lane)
      if (lane !== undefined && !wasLive) Object.assign(known, { lane, heldUntil: now + RESERVATION_MS })
      return
    }
    case 'confirm':
      // A renderer looks for the manifest before it claims a render. So only the queue's confirmation may come too late.
      if (known.outcome !== undefined && !known.isSettled) return
      await limiter.confirm(record, signal)
      if (known.isSettled) return
      await harness.queue?.add(record, signal)
      known.isQueued = harness.queue !== undefined
      known.heldUntil = now + QUEUE_AGE_MS_MAX
      if (!wasLive) known.lane = undefined
      return
    case 'succeed':
    case 'fail': {
      known.outcome ??= kind === 'succeed' ? 'succeeded' : 'failed'
      const manifest = aManifest({ record, ...(known.outcome === 'failed' && { outcome: aFailure() }) })
      await Promise.all([limiter.complete(manifest, signal), limiter.complete(manifest, signal)])
      Object.assign(known, { isSettled: true, heldUntil: undefined })
      return
    }
    case 'done':
      if (!known.isSettled || !known.isQueued) return
      await harness.queue?.remove(request.id, signal)
      known.isQueued = false
  }
}

function laneFor(request: Reservation, renders: readonly Known[], now: number): Lane | undefined {
  const { charged, reserved } = usageIn(renders, request, now)
  if (request.units > 0 && charged + reserved + request.units > LIMITS.renderLimitMonthly) return undefined
  if (request.mode === 'sync') return 'sync'
  const { account, engine } = request
  const before = renders.filter(
    (other) =>
      isLive(other, now) &&
      other.request.mode === 'async' &&
      other.request.account === account &&
      other.request.engine === engine,
  )
  return before.length < LIMITS.asyncFairShare ? 'async' : 'bulk'
}

async function restart(harness: LimiterHarness, limiter: Limiter, renders: readonly Known[]): Promise<Limiter> {
  if (harness.reopen === undefined) return limiter
  for (const known of renders) {
    // A render without a charge leaves no trace. It holds its place again until `complete` is called again.
    const isCharged = known.outcome === 'succeeded' && known.request.units > 0
    const isHeld = known.isQueued && !isCharged
    const heldUntil = isHeld ? harness.clock.now() + QUEUE_AGE_MS_MAX : undefined
    Object.assign(known, { isSettled: false, lane: undefined, heldUntil })
  }
  return await harness.reopen()
}

async function compare(renders: readonly Known[], { harness, limiter, signal }: Omit<World, 'renders'>): Promise<void> {
  for (const { request } of renders.slice(0, 2)) {
    for (const period of PERIODS) {
      const expected = usageIn(renders, { account: request.account, period }, harness.clock.now())
      expect(await limiter.usage(request.account, period, signal)).toStrictEqual(expected)
    }
  }
}

function usageIn(
  renders: readonly Known[],
  { account, period }: Pick<Reservation, 'account' | 'period'>,
  now: number,
): Usage {
  const mine = renders.filter(({ request }) => request.account === account && request.period === period)
  const sum = (some: readonly Known[]) => some.reduce((units, { request }) => units + request.units, 0)
  return {
    charged: sum(mine.filter(({ outcome }) => outcome === 'succeeded')),
    reserved: sum(mine.filter((known) => isLive(known, now))),
  }
}

function isLive({ heldUntil }: Known, now: number): boolean {
  return heldUntil !== undefined && heldUntil > now
}
