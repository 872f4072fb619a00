/**
 * What a limiter must know of quota and lanes, kept the slow and plain way, and walks of random steps that hold a limiter against it.
 * Rates are out of its sight: the limits it asks with never bind there.
 */
import { randomUUID } from 'node:crypto'
import { QUEUE_AGE_MS_MAX, RESERVATION_MS } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Decision, Limiter, Reservation, Usage } from '@platen/contract/port/limiter.ts'
import type { Lane, RenderRecord } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import * as fc from 'fast-check'
import { expect } from 'vitest'
import { aFailure, aManifest, aRenderId, aReservation, recordOf } from '../fixture/build.ts'
import type { Harness } from './harness.ts'

/** What a test asks of a limiter, but for the limits. */
export type Fields = Partial<Omit<Reservation, 'limits'>>

export const kindOf = (decision: Decision) => (decision.kind === 'admitted' ? 'admitted' : decision.reason)

export interface LimiterHarness extends Harness<Limiter> {
  readonly clock: Clock
  /** Lets so much time pass for the limiter. */
  advance(ms: number): Promise<void>
  /** The durable queue, where reservations come back from it when the limiter is opened. */
  readonly queue?: {
    add(record: RenderRecord, signal: AbortSignal): Promise<void>
    remove(id: RenderId, signal: AbortSignal): Promise<void>
  }
}

const LIMITS = { asyncRateLimitPerMinute: 1_000_000, renderLimitMonthly: 6, asyncFairShare: 2 }
const PERIODS = ['2026-11', '2026-12']

/** Steps of one of a dozen renders, or of all. */
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

/** What is true of one render. */
interface Known {
  readonly request: Reservation
  /** It holds its units and its place until then. */
  heldUntil?: number | undefined
  /** Its decision as long as it holds, unless it has been forgotten in a restart. */
  lane?: Lane | undefined
  isQueued: boolean
  /** What its manifest says, once there is one. */
  outcome?: 'succeeded' | 'failed'
  /** The limiter was told of the outcome since the last start. */
  isSettled: boolean
}

/** Takes a dozen renders of two accounts through the steps, comparing everything after each. */
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
      // Nobody asks for a render that has ended, or that was let in before a restart.
      if (known.outcome !== undefined || (wasLive && known.lane === undefined)) return
      const lane = wasLive ? known.lane : laneFor(request, renders, now)
      const decision = await limiter.reserve(request, signal)
      expect(decision.kind === 'admitted' ? decision.lane : undefined).toBe(lane)
      if (lane !== undefined && !wasLive) Object.assign(known, { lane, heldUntil: now + RESERVATION_MS })
      return
    }
    case 'confirm':
      // Whoever claims a render looks for its manifest first; only the word of the queue may come too late.
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
    // What was free of charge left nothing behind, and holds its place until it is settled again.
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
