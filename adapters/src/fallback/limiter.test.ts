import { RATE_WINDOW_MS } from '@platen/contract/domain/limit.ts'
import type { KeyHash, Limits } from '@platen/contract/domain/tenant.ts'
import type { Limiter, Reservation } from '@platen/contract/port/limiter.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  anAbandonedManifest,
  aRenderId,
  aReservation,
  NEVER,
  NOON,
  recordOf,
  SILENT,
} from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { memoryLimiter } from '../../../test/fixture/memory/limiter.ts'
import { countedLimiter } from './counted-limiter.ts'
import { FALLBACK_ACCOUNTS_MAX, fallbackLimiter, LIMIT_SHARES, type LimitShares } from './limiter.ts'

/** Some processes that share a limiter, which a test can take away and bring back. */
function someProcesses({ count = 1, replicas = count }: { count?: number; replicas?: number } = {}) {
  const clock = manualClock(NOON)
  const world = { isAway: false, replicas, failures: 0, shared: memoryLimiter(clock) }
  const unlessAway = async <T>(call: () => Promise<T>): Promise<T> => {
    if (world.isAway) throw new Unavailable('Redis is unavailable')
    return await call()
  }
  const limiter: Limiter = {
    reserve: (request, signal) => unlessAway(() => world.shared.reserve(request, signal)),
    confirm: (record, signal) => unlessAway(() => world.shared.confirm(record, signal)),
    complete: (manifest, signal) => unlessAway(() => world.shared.complete(manifest, signal)),
    usage: (account, period, signal) => unlessAway(() => world.shared.usage(account, period, signal)),
    report: (query, signal) => unlessAway(() => world.shared.report(query, signal)),
  }
  const meter = { limiterFailed: () => void (world.failures += 1) }
  const options = { limiter: countedLimiter(limiter, meter), clock, log: SILENT, replicas: () => world.replicas }
  const processes = Array.from({ length: count }, () => fallbackLimiter(options))
  const [process = fallbackLimiter(options)] = processes
  return { clock, world, processes, process }
}

/** Reserves another render of the same account and key. */
const ask = (limiter: Limiter, limits: Partial<Limits>, fields: Partial<Omit<Reservation, 'limits'>> = {}) =>
  limiter.reserve(aReservation({ id: aRenderId(), ...fields, limits }), NEVER)

async function admittedOf(limiter: Limiter, times: number, limits: Partial<Limits>): Promise<number> {
  let admitted = 0
  for (let i = 0; i < times; i++) if ((await ask(limiter, limits)).kind === 'admitted') admitted += 1
  return admitted
}

describe('rates', () => {
  test.for([
    [60, 1, 60],
    [60, 2, 30],
    [7, 2, 3],
    [2, 3, 1],
    [1, 10, 1],
    [0, 2, 0],
  ] as const)('of %i a minute and %i processes, each admits %i', async ([limit, replicas, admitted]) => {
    const { world, process } = someProcesses({ replicas })
    world.isAway = true
    expect(await admittedOf(process, limit + 2, { asyncRateLimitPerMinute: limit })).toBe(admitted)
  })

  test('a refusal names the share, and says when it is free again', async () => {
    const { world, process, clock } = someProcesses({ replicas: 2 })
    world.isAway = true
    const limits = { asyncRateLimitPerMinute: 4 }
    expect(await admittedOf(process, 2, limits)).toBe(2)
    const rate = { limit: 2, remaining: 0, resetAt: NOON + RATE_WINDOW_MS + 1000 }
    expect(await ask(process, limits)).toMatchObject({ kind: 'refused', reason: 'rate', retryAfterMs: 61_000, rate })
    await clock.advance(61_000)
    expect(await admittedOf(process, 3, limits)).toBe(2)
  })

  test('each bucket is shared out, and the number of processes asked for at each decision', async () => {
    const { world, process } = someProcesses({ replicas: 2 })
    world.isAway = true
    const limits = { asyncRateLimitPerMinute: 100, rateLimitPerMinute: 4, htmlRateLimitPerMinute: 6 }
    expect(await admittedOf(process, 5, limits)).toBe(2)
    const html = { ...limits, rateLimitPerMinute: 100 }
    const last = []
    for (let i = 0; i < 4; i++) last.push(await ask(process, html, { engine: 'html' }))
    expect(last.map(({ kind }) => kind)).toEqual(['admitted', 'admitted', 'admitted', 'refused'])
    expect(last.at(-1)).toMatchObject({ reason: 'html_rate', rate: { limit: 3 } })
    world.replicas = 1
    expect(await admittedOf(process, 5, limits)).toBe(2)
  })

  test.for([
    ['that is named', { tenantAsyncRateLimitPerMinute: 7 }, 3],
    ['that follows from that of a key', { asyncRateLimitPerMinute: 3 }, 6],
  ] as const)('a rate of the tenant %s is shared out as well', async ([, limits, admitted]) => {
    const { world, process } = someProcesses({ replicas: 2 })
    world.isAway = true
    const kinds: string[] = []
    for (let at = 0; at < 20; at++) {
      // The brand of a hash comes from the code that reads keys; any text works here.
      kinds.push((await ask(process, limits, { key: `key-${at}` as KeyHash })).kind)
    }
    expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(admitted)
  })

  test('a limit that is added does not compile before it is said what one of several processes has of it', () => {
    type One<Name extends string> = Limits & { readonly [Added in Name]?: number }
    // @ts-expect-error The table has no share of the new limit.
    expect(LIMIT_SHARES satisfies LimitShares<One<'newRateLimitPerMinute'>>).toBe(LIMIT_SHARES)
    // @ts-expect-error The same for a limit that is no rate.
    expect(LIMIT_SHARES satisfies LimitShares<One<'newLimit'>>).toBe(LIMIT_SHARES)
    const whole = { ...LIMIT_SHARES, newRateLimitPerMinute: 'whole' } as const
    // @ts-expect-error A rate is divided.
    expect(whole satisfies LimitShares<One<'newRateLimitPerMinute'>>).toBe(whole)
    const divided = { ...LIMIT_SHARES, newRateLimitPerMinute: 'divided' } as const
    expect(divided satisfies LimitShares<One<'newRateLimitPerMinute'>>).toBe(divided)
  })

  test('a limiter that comes and goes lends nobody a new minute', async () => {
    const { world, process, clock } = someProcesses({ replicas: 2 })
    const limits = { asyncRateLimitPerMinute: 20 }
    let admitted = 0
    for (let absences = 0; absences < 10; absences++) {
      world.isAway = true
      admitted += await admittedOf(process, 3, limits)
      world.isAway = false
      await clock.advance(1000)
      await ask(process, { asyncRateLimitPerMinute: 100 })
    }
    expect(admitted).toBe(10)
    world.isAway = false
    await clock.advance(2 * RATE_WINDOW_MS)
    world.isAway = true
    expect(await admittedOf(process, 11, limits)).toBe(10)
  })

  test('what the share of the async lane is, decides the lane', async () => {
    const { world, process } = someProcesses({ replicas: 2 })
    world.isAway = true
    const lanes = []
    for (let i = 0; i < 4; i++) lanes.push(await ask(process, { asyncFairShare: 4 }))
    expect(lanes).toMatchObject([{ lane: 'async' }, { lane: 'async' }, { lane: 'bulk' }, { lane: 'bulk' }])
  })
})

const anyRequest = fc.record({
  process: fc.nat(4),
  waitMs: fc.constantFrom(0, 0, 0, 1, 400, 1000, 7000, 61_000),
  mode: fc.constantFrom('sync' as const, 'async' as const),
  engine: fc.constantFrom('html' as const, 'react_pdf' as const),
})

test('alone and with the limiter away from the start, it is the allowance itself', async () => {
  const limits = {
    syncRateLimitPerMinute: 5,
    asyncRateLimitPerMinute: 3,
    rateLimitPerMinute: 6,
    renderLimitMonthly: 30,
  }
  await fc.assert(
    fc.asyncProperty(fc.array(anyRequest, { maxLength: 60 }), async (requests) => {
      const { world, process, clock } = someProcesses()
      const plain = memoryLimiter(clock)
      world.isAway = true
      for (const { waitMs, mode, engine } of requests) {
        await clock.advance(waitMs)
        const request = aReservation({ id: aRenderId(), mode, engine, units: 1, limits })
        const expected = await plain.reserve(request, NEVER)
        expect(await process.reserve(request, NEVER)).toEqual(expected)
        // A confirmed render is held by the plain limiter until it ends, as it is in the usage snapshot of the other.
        if (expected.kind === 'admitted' && mode === 'sync') await plain.confirm(recordOf(request), NEVER)
        else if (expected.kind === 'admitted') await settleBoth(request, [plain, process])
      }
    }),
    { numRuns: 100 },
  )
})

/** The API abandons a render: both limiters release it. */
async function settleBoth(request: Reservation, limiters: readonly Limiter[]): Promise<void> {
  for (const limiter of limiters) await limiter.complete(anAbandonedManifest(recordOf(request)), NEVER)
}

test('several together admit in no rolling minute more than the limit, nor more units than were left', async () => {
  const anyWorld = fc.record({
    limit: fc.integer({ min: 5, max: 12 }),
    left: fc.integer({ min: 0, max: 40 }),
    requests: fc.array(anyRequest, { minLength: 30, maxLength: 120 }),
  })
  await fc.assert(
    fc.asyncProperty(anyWorld, async ({ limit, left, requests }) => {
      const { world, processes, clock } = someProcesses({ count: 5 })
      const limits = { asyncRateLimitPerMinute: limit, rateLimitPerMinute: 100, renderLimitMonthly: left + 5 }
      // Five units are used, and every process knows that.
      for (const each of processes) await ask(each, { ...limits, asyncRateLimitPerMinute: 100 })
      for (const each of processes) await ask(each, limits, { units: 1000 })
      await clock.advance(2 * RATE_WINDOW_MS)
      world.isAway = true
      const admittedAt: number[] = []
      for (const { process, waitMs } of requests) {
        await clock.advance(waitMs)
        const decision = await ask(processes[process] ?? world.shared, limits)
        if (decision.kind === 'admitted') admittedAt.push(clock.now())
      }
      for (const from of admittedAt) {
        const within = admittedAt.filter((at) => at >= from && at < from + RATE_WINDOW_MS)
        expect(within.length).toBeLessThanOrEqual(limit)
      }
      expect(admittedAt.length).toBeLessThanOrEqual(left)
    }),
    { numRuns: 50 },
  )
})

describe('quota', () => {
  const limits = { renderLimitMonthly: 20 }
  const MANY = 30

  test('what was left when the limiter was asked last is shared out', async () => {
    const { world, process } = someProcesses({ replicas: 2 })
    expect(await admittedOf(process, 10, limits)).toBe(10)
    world.isAway = true
    expect(await admittedOf(process, MANY, limits)).toBe(5)
    const usage = { charged: 0, reserved: 15 }
    expect(await ask(process, limits)).toMatchObject({ kind: 'refused', reason: 'quota', limit: 20, usage })
    // The sandbox is free, and another month has its own quota.
    expect(await ask(process, limits, { units: 0 })).toMatchObject({ kind: 'admitted' })
    expect(await ask(process, limits, { period: '2026-12' })).toMatchObject({ kind: 'admitted' })
  })

  test('of an account that was not seen before, all of it is', async () => {
    const { world, process } = someProcesses({ replicas: 2 })
    world.isAway = true
    expect(await admittedOf(process, MANY, limits)).toBe(10)
  })

  test('a refusal of the limiter is remembered as well', async () => {
    const { world, process } = someProcesses({ replicas: 2 })
    world.shared = memoryLimiter(manualClock(NOON))
    for (let i = 0; i < 19; i++) await world.shared.reserve(aReservation({ id: aRenderId(), limits }), NEVER)
    expect(await ask(process, limits, { units: 5 })).toMatchObject({ reason: 'quota' })
    world.isAway = true
    expect(await admittedOf(process, MANY, limits)).toBe(0)
  })

  test('it stays used for as long as the limiter is away, and is forgotten when that has decided again', async () => {
    const { world, process, clock } = someProcesses({ replicas: 2 })
    world.isAway = true
    expect(await admittedOf(process, MANY, limits)).toBe(10)
    await clock.advance(100 * RATE_WINDOW_MS)
    expect(await admittedOf(process, MANY, limits)).toBe(0)
    world.isAway = false
    expect(await ask(process, limits)).toMatchObject({ usage: { charged: 0, reserved: 1 } })
    world.isAway = true
    expect(await admittedOf(process, MANY, limits)).toBe(9)
  })

  test('a render that is given up gives its unit back, and its place', async () => {
    const { world, process } = someProcesses()
    world.isAway = true
    const request = aReservation({ id: aRenderId(), limits: { renderLimitMonthly: 1, asyncRateLimitPerMinute: 1 } })
    expect(await process.reserve(request, NEVER)).toMatchObject({ kind: 'admitted' })
    const again = { ...request, id: aRenderId() }
    expect(await process.reserve(again, NEVER)).toMatchObject({ reason: 'rate' })
    await process.complete(anAbandonedManifest(recordOf(request)), NEVER)
    expect(await process.reserve(again, NEVER)).toMatchObject({ kind: 'admitted' })
  })

  test('is remembered of so many accounts and no more', async () => {
    const { world, process } = someProcesses({ replicas: 2 })
    const account = (at: number) => ({ account: `account-${at}` })
    for (let i = 0; i <= FALLBACK_ACCOUNTS_MAX; i++) await ask(process, limits, { ...account(i), units: 20 })
    world.isAway = true
    expect(await ask(process, limits, account(1))).toMatchObject({ reason: 'quota' })
    expect(await ask(process, limits, account(0))).toMatchObject({ kind: 'admitted' })
  })
})

test('a report that does not reach the limiter is counted and is no error, but a defect is one', async () => {
  const { world, process } = someProcesses()
  const request = aReservation()
  expect(await process.reserve(request, NEVER)).toMatchObject({ kind: 'admitted' })
  expect(world.failures).toBe(0)
  world.isAway = true
  await process.confirm(recordOf(request), NEVER)
  await process.complete(anAbandonedManifest(recordOf(request)), NEVER)
  await process.reserve({ ...request, id: aRenderId() }, NEVER)
  expect(world.failures).toBe(3)
  await expect(process.usage(request.account, request.period, NEVER)).rejects.toThrow(Unavailable)
  expect(world.failures).toBe(4)
  const broken = { ...world.shared, reserve: () => Promise.reject(new TypeError('a defect')) }
  const { clock } = someProcesses()
  const other = fallbackLimiter({ limiter: broken, clock, log: SILENT })
  await expect(other.reserve(request, NEVER)).rejects.toThrow(TypeError)
})
