import type { Uid } from '@platen/contract/domain/resource.ts'
import { DEFAULT_LIMITS, type Tenant, type TenantId } from '@platen/contract/domain/tenant.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, onTestFinished, test } from 'vitest'
import { SILENT } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { aTenantResource } from '../../../test/fixture/resource.ts'
import { packStatus } from '../reconcile/packed-status.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'
import type { Status } from '../reconcile/status.ts'
import { USAGE_READS_AT_ONCE } from './limit.ts'
import { openUsageReader } from './usage.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const NOON = Date.UTC(2026, 10, 22, 12)
const SHOWN = { month: '2026-11', used: 100, reserved: 0, readAt: '2026-11-22T12:00:00Z' }

interface World {
  /** Tenants by name, with the status that they start with. */
  readonly tenants?: Readonly<Record<string, Status>>
  readonly limit?: number
  readonly start?: number
}

/** A usage reader that runs until the test ends. Its tenants have used nothing, unless a test says so. */
function reading({ tenants = { acme: {} }, limit, start = NOON }: World = {}) {
  const clock = manualClock(start)
  const views = new Map(Object.entries(tenants).map(([name, status]) => [name, viewOf(name, status)]))
  const limits = { ...DEFAULT_LIMITS, ...(limit !== undefined && { renderLimitMonthly: limit }) }
  const units = new Map<string, { charged: number; reserved: number }>()
  const scene = { limits, isRedisAway: false, reads: [] as string[], changed: [] as string[] }
  const usage = openUsageReader({
    resources: { all: () => [...views.values()] },
    inForce: (uid) => settingsOf(uid, scene.limits),
    limiter: {
      async usage(account, month) {
        if (scene.isRedisAway) throw new Unavailable('Redis is unavailable')
        scene.reads.push(account)
        return units.get(`${account} ${month}`) ?? { charged: 0, reserved: 0 }
      },
    },
    onChange: (key) => scene.changed.push(key),
    clock,
    log: SILENT,
  })
  const stop = new AbortController()
  const ended = usage.run(stop.signal)
  onTestFinished(async () => {
    stop.abort(new Error('stopped'))
    await expect(ended).rejects.toThrow('stopped')
  })
  return {
    clock,
    scene,
    views,
    shows: (name = 'acme') => usage.usageOf(uidOf(name)),
    /** Sets what a tenant has used. The account of a tenant is not its uid. */
    use: (charged: number, { name = 'acme', month = '2026-11', reserved = 0 } = {}) =>
      void units.set(`account-of-${uidOf(name)} ${month}`, { charged, reserved }),
  }
}

function uidOf(name: string): Uid {
  return `uid-${name}` as Uid
}

function viewOf(name: string, status: Status): ResourceView {
  const resource = aTenantResource({ metadata: { name, uid: uidOf(name) } })
  return { resource, isDeleting: false, finalizers: [], status: packStatus(status), resourceVersion: '1' }
}

function settingsOf(uid: Uid, limits: Tenant['limits']): Tenant {
  const storage = { bucket: 'platen', prefix: `${uid}/` }
  return { id: uid as unknown as TenantId, account: `account-of-${uid}`, limits, suspended: false, storage }
}

const named = (count: number, status: Status = {}) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, status]))

test('shows what a tenant has used and reserved in this month, when it was read, and the limit in force', async () => {
  const { clock, scene, use, shows } = reading({ limit: 1000 })
  use(3, { reserved: 2 })
  await clock.advance(SECOND)
  const figures = { month: '2026-11', used: 3, reserved: 2, readAt: '2026-11-22T12:00:01Z' }
  expect(shows()).toEqual({ ...figures, limit: 1000 })
  expect(scene.changed).toEqual(['Tenant acme'])
  scene.limits = DEFAULT_LIMITS
  expect(shows()).toEqual(figures)
})

test('shows nothing for a tenant that uses nothing', async () => {
  const { clock, scene, shows } = reading()
  await clock.advance(48 * HOUR)
  expect([shows(), scene.changed]).toEqual([undefined, []])
})

test.for<[about: string, before: object, used: number, reserved: number, afterMs: number, isShown: boolean]>([
  ['the same units, within a day', {}, 100, 0, 23 * HOUR, false],
  ['the same units, after a day', {}, 100, 0, 24 * HOUR, true],
  ['five percent more, within a minute', {}, 105, 0, 59 * SECOND, false],
  ['five percent more, after a minute', {}, 105, 0, MINUTE, true],
  ['a little more, within an hour', {}, 104, 0, 59 * MINUTE, false],
  ['a little more, after an hour', {}, 104, 0, HOUR, true],
  ['the first unit', { used: 0 }, 1, 0, MINUTE, true],
  ['other reservations, within an hour', {}, 100, 7, 59 * MINUTE, false],
  ['other reservations, after an hour', {}, 100, 7, HOUR, true],
  ['the limit reached, after a minute', { used: 999 }, 1000, 0, MINUTE, true],
  ['the limit reached by reservations', { used: 999 }, 999, 1, MINUTE, true],
  ['the limit no longer reached', { used: 999, reserved: 1 }, 999, 0, MINUTE, true],
  ['fewer units, as after a loss of Redis, within an hour', {}, 0, 0, 59 * MINUTE, false],
  ['fewer units, after an hour', {}, 0, 0, HOUR, true],
  ['units of another month', { month: '2026-10' }, 0, 0, SECOND, true],
  ['units that were read in the future', { readAt: '2027-11-22T12:00:00Z' }, 104, 0, SECOND, true],
])('asks for a write or not: %s', async ([, before, used, reserved, afterMs, isShown]) => {
  const { clock, scene, use } = reading({
    tenants: { acme: { usage: { ...SHOWN, ...before } } },
    limit: 1000,
    // The first read is a second after the start.
    start: NOON + afterMs - SECOND,
  })
  use(used, { reserved })
  await clock.advance(SECOND)
  expect(scene.changed).toEqual(isShown ? ['Tenant acme'] : [])
})

test('begins a month with what is used in it', async () => {
  const { clock, shows, use } = reading({ start: Date.UTC(2026, 10, 30, 23, 59) })
  use(500)
  use(2, { month: '2026-12' })
  await clock.advance(59 * SECOND)
  expect(shows()).toMatchObject({ month: '2026-11', used: 500 })
  await clock.advance(SECOND)
  expect(shows()).toMatchObject({ month: '2026-12', used: 2, readAt: '2026-12-01T00:00:00Z' })
})

test('keeps the figures of a status, and when they were read, over a restart and while Redis is away', async () => {
  const { clock, scene, shows, use } = reading({ tenants: { acme: { usage: { ...SHOWN, limit: 7 } } }, limit: 1000 })
  expect(shows()).toEqual({ ...SHOWN, limit: 1000 })
  scene.isRedisAway = true
  use(200)
  await clock.advance(10 * HOUR)
  expect([shows(), scene.changed]).toEqual([{ ...SHOWN, limit: 1000 }, []])
  scene.isRedisAway = false
  await clock.advance(SECOND)
  expect(shows()).toMatchObject({ used: 200, readAt: '2026-11-22T22:00:01Z' })
})

test('forgets a tenant that is gone, and reads one that is new', async () => {
  const { clock, views, shows, use } = reading({ tenants: { acme: { usage: SHOWN } } })
  views.delete('acme')
  views.set('globex', viewOf('globex', {}))
  use(1, { name: 'globex' })
  await clock.advance(2 * SECOND)
  expect([shows('acme'), shows('globex')]).toMatchObject([undefined, { used: 1 }])
})

test('waits without haste while there is no tenant', async () => {
  const { clock, views, scene } = reading({ tenants: {} })
  await clock.advance(10 * SECOND)
  views.set('acme', viewOf('acme', {}))
  await clock.advance(3 * SECOND)
  expect(scene.reads.length).toBeGreaterThan(0)
  expect(scene.reads.length).toBeLessThanOrEqual(3)
})

test('reads 10,000 tenants in less than ten minutes, each as often as the others', async () => {
  const { clock, scene } = reading({ tenants: named(10_000) })
  await clock.advance((10_000 / USAGE_READS_AT_ONCE) * SECOND)
  expect(new Set(scene.reads).size).toBe(10_000)
  expect(scene.reads).toHaveLength(10_000)
})

test('asks for few writes where 10,000 tenants are busy: one an hour for each, and never more than it reads', async () => {
  const { clock, scene, use } = reading({ tenants: named(10_000, { usage: { ...SHOWN, used: 10_000 } }) })
  const hours = 2
  let all = 0
  for (let minute = 1; minute <= hours * 60; minute++) {
    for (let at = 0; at < 10_000; at++) use(10_000 + minute, { name: `t${at}` })
    scene.changed.length = 0
    await clock.advance(MINUTE)
    expect(scene.changed.length).toBeLessThanOrEqual((USAGE_READS_AT_ONCE * MINUTE) / SECOND)
    all += scene.changed.length
  }
  process.stdout.write(`${(all / (hours * 3600)).toFixed(1)} writes a second\n`)
  expect(all).toBeGreaterThan(0)
  expect(all).toBeLessThanOrEqual(hours * 10_000)
})
