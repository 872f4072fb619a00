/** Compares the limiter in Redis with the one in TypeScript: the same random operations must give the same answers. */
import { randomInt } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { writeLimits } from '@platen/adapters/redis/limiter-settings.ts'
import { QUEUE_AGE_MS_MAX, RATE_WINDOW_MS, RESERVATION_MS } from '@platen/contract/domain/limit.ts'
import type { KeyHash, Limits } from '@platen/contract/domain/tenant.ts'
import type { Decision, Limiter, Reservation } from '@platen/contract/port/limiter.ts'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  aFailure,
  aManifest,
  anAbandonedManifest,
  aRenderId,
  aReservation,
  NEVER,
  NOON,
  recordOf,
} from '../fixture/build.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { memoryLimiter } from '../fixture/memory/limiter.ts'
import { IS_LONG } from '../run/form.ts'
import { describeOnRedis } from './redis-harness.ts'

/** Number of operations, and the minimum number of limiter calls among them. The queries after each call do not count. */
const OPERATIONS = IS_LONG ? 160_000 : 8000
const CALLS_MIN = OPERATIONS / 1.6
/** Calls under way at the same time. They are sent together, and Redis answers them in order. */
const BATCH = 1000
const RENDERS = 200

/** An operation on one of many renders, or a wait, which affects all. `replace` puts a new render in the place of an old one. */
type Operation =
  | OneOperation
  | { readonly kind: 'replace'; readonly which: number }
  | { readonly kind: 'wait'; readonly ms: number }
  | Publishing

/** Publishes new limits for a render's account, before any caller knows of them. */
interface Publishing {
  readonly kind: 'publish'
  readonly which: number
  readonly limits: Partial<Limits>
}

type OneOperation =
  | {
      readonly kind: 'reserve'
      readonly which: number
      readonly limits: Partial<Limits>
      /** How many revisions the caller's limits are ahead of the account's published ones. Negative when the caller has older limits. */
      readonly ahead: number
    }
  | { readonly kind: 'confirm' | 'succeed' | 'fail' | 'abandon'; readonly which: number }

const anyLimits: fc.Arbitrary<Partial<Limits>> = fc.record(
  {
    asyncRateLimitPerMinute: fc.constantFrom(0, 2, 5, 60),
    syncRateLimitPerMinute: fc.constantFrom(1, 3, 60),
    tenantAsyncRateLimitPerMinute: fc.constantFrom(0, 4, 10, 100),
    tenantSyncRateLimitPerMinute: fc.constantFrom(2, 5, 100),
    rateLimitPerMinute: fc.constantFrom(4, 9, 60),
    htmlRateLimitPerMinute: fc.constantFrom(0, 3, 6, 60),
    renderLimitMonthly: fc.constantFrom(0, 1000, 20_000),
    asyncFairShare: fc.constantFrom(1, 2, 8),
  },
  { requiredKeys: [] },
)

const which = fc.nat(RENDERS - 1)
const ahead = fc.constantFrom(-1, 0, 1)
const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 200, arbitrary: fc.record({ kind: fc.constant('reserve'), which, limits: anyLimits, ahead }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('publish'), which, limits: anyLimits }) },
  { weight: 60, arbitrary: fc.record({ kind: fc.constant('confirm'), which }) },
  { weight: 70, arbitrary: fc.record({ kind: fc.constantFrom('succeed', 'fail', 'abandon'), which }) },
  { weight: 100, arbitrary: fc.record({ kind: fc.constant('replace'), which }) },
  { weight: 70, arbitrary: waitOf(1, 250, 999, 1000, 2718, 7000) },
  { weight: 1, arbitrary: waitOf(RESERVATION_MS - 1, RESERVATION_MS, RATE_WINDOW_MS + 1000, QUEUE_AGE_MS_MAX) },
)

describeOnRedis('the limiter in Redis', (redis) => {
  test(`answers ${CALLS_MIN} random calls as the one in TypeScript does`, { timeout: 300_000 }, async () => {
    const seed = Number(process.env['PLATEN_TEST_SEED'] ?? randomInt(2 ** 31))
    process.stdout.write(`the seed is ${seed}; again with PLATEN_TEST_SEED=${seed}\n`)
    const operations = fc.sample(anyOperation, { numRuns: OPERATIONS, seed })
    const clock = manualClock(NOON)
    await using connection = await redis.emptied()
    const limiter = redisLimiter(connection, { clock })
    // A Redis without the script gets it in a second call. Calls sent meanwhile would run in between, so the script is loaded first.
    await limiter.usage('nobody', '2026-11', NEVER)
    const pair = openPair({ model: memoryLimiter(clock), limiter, connection })
    const renders = Array.from({ length: RENDERS }, (_, i) => aRender(i))
    for (const operation of operations) {
      if (operation.kind === 'wait') await clock.advance(operation.ms)
      else if (operation.kind === 'replace') renders[operation.which] = aRender(operation.which)
      else if (operation.kind === 'publish') await pair.publish(operation, renders[operation.which] ?? aRender(0))
      else await pair.take(operation, renders[operation.which] ?? aRender(0))
    }
    await pair.compare()
    process.stdout.write(`answers: ${JSON.stringify(Object.fromEntries(pair.seen))}\n`)
    // Each possible result of a call must have occurred often.
    const ways = [
      'async',
      'bulk',
      'sync',
      'rate',
      'html_rate',
      'quota',
      'confirm',
      'succeed',
      'fail',
      'abandon',
      'publish',
      'newer',
    ]
    const calls = [...pair.seen.values()].reduce((sum, count) => sum + count, 0)
    expect(calls).toBeGreaterThanOrEqual(CALLS_MIN)
    expect(ways.filter((way) => (pair.seen.get(way) ?? 0) < OPERATIONS / 200)).toEqual([])
  })
})

interface Answer {
  readonly operation: Operation
  readonly expected: unknown
  readonly actual: Promise<unknown>
}

/** Applies the same operations to both limiters. Compares their answers, one batch at a time. */
function openPair({ model, limiter, connection }: Pair) {
  const seen = new Map<string, number>()
  const see = (way: string) => seen.set(way, (seen.get(way) ?? 0) + 1)
  // The published limits of each account, kept as a simple model.
  const published = new Map<string, { readonly revision: number; readonly limits: Limits }>()
  let batch: Answer[] = []
  const compare = async () => {
    const answers = await Promise.all(batch.map(async (each) => ({ ...each, actual: await each.actual })))
    expect(answers.filter(({ expected, actual }) => !isDeepStrictEqual(expected, actual))).toEqual([])
    batch = []
  }
  return {
    seen,
    compare,
    async publish({ limits }: Publishing, { account, limits: defaults }: Reservation): Promise<void> {
      await compare()
      const revision = (published.get(account)?.revision ?? 0) + 1
      const all = { ...defaults, ...limits }
      published.set(account, { revision, limits: all })
      await writeLimits(connection, { revision, limits: new Map([[account, all]]) }, NEVER)
      see('publish')
    },
    async take(operation: OneOperation, request: Reservation): Promise<void> {
      const { account, period } = request
      const newest = published.get(account)
      // The model expires reservations when its usage is asked for. Redis does so at each call.
      await model.usage(account, period, NEVER)
      // This takes two calls in Redis. Calls sent meanwhile would run in between.
      if (operation.kind === 'abandon') await compare()
      const asked = operation.kind === 'reserve' ? asReserved(request, operation, newest?.revision ?? 0) : request
      const isNewer = newest !== undefined && newest.revision > asked.revision
      if (isNewer && operation.kind === 'reserve') see('newer')
      const actual = apply(limiter, operation, asked)
      // A confirmation is sent at the end of its turn, after the calls that would follow it.
      if (operation.kind === 'abandon' || operation.kind === 'confirm') await actual
      const expected = await apply(model, operation, isNewer ? { ...asked, limits: newest.limits } : asked)
      const usage = await model.usage(account, period, NEVER)
      batch.push({ operation, expected, actual })
      batch.push({ operation, expected: usage, actual: limiter.usage(account, period, NEVER) })
      const report = await model.report(isNewer ? { ...asked, limits: newest.limits } : asked, NEVER)
      batch.push({ operation, expected: report, actual: limiter.report(asked, NEVER) })
      see(wayOf(operation, expected))
      if (batch.length >= BATCH) await compare()
    },
  }
}

interface Pair {
  readonly model: Limiter
  readonly limiter: Limiter
  readonly connection: RedisConnection
}

function asReserved(
  request: Reservation,
  { limits, ahead }: Extract<OneOperation, { kind: 'reserve' }>,
  published: number,
): Reservation {
  return { ...request, limits: { ...request.limits, ...limits }, revision: published + ahead }
}

async function apply(limiter: Limiter, operation: OneOperation, request: Reservation): Promise<Decision | undefined> {
  const record = recordOf(request)
  switch (operation.kind) {
    case 'reserve':
      return limiter.reserve(request, NEVER)
    case 'confirm':
      await limiter.confirm(record, NEVER)
      return undefined
    case 'succeed':
      await limiter.complete(aManifest({ record }), NEVER)
      return undefined
    case 'fail':
      await limiter.complete(aManifest({ record, outcome: aFailure() }), NEVER)
      return undefined
    case 'abandon':
      await limiter.complete(anAbandonedManifest(record), NEVER)
      return undefined
  }
}

function wayOf(operation: OneOperation, decision: Decision | undefined): string {
  if (decision === undefined) return operation.kind
  return decision.kind === 'admitted' ? decision.lane : decision.reason
}

/** Builds a new render. Its fields depend on its place. */
function aRender(place: number): Reservation {
  return aReservation({
    id: aRenderId(),
    // Every eleventh is the first render of a batch, whose others nobody completes.
    ...(place % 11 === 4 && { others: [aRenderId(), aRenderId(), aRenderId()] }),
    account: `account-${place % 4}`,
    environment: place % 7 === 0 ? 'test' : 'live',
    // Code that reads keys sets the brand. Any text works here.
    key: `key-${place % 12}` as KeyHash,
    mode: place % 3 === 0 ? 'sync' : 'async',
    engine: place % 5 < 2 ? 'html' : 'react_pdf',
    units: place % 6,
    period: place % 10 === 0 ? '2026-12' : '2026-11',
  })
}

function waitOf(...ms: readonly number[]) {
  return fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(...ms) })
}
