/** What the statuses of tenants say of their usage: of what is in Redis, beside all else that is written to them. */
import { isDeepStrictEqual } from 'node:util'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { monthOf } from '@platen/contract/domain/render.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aManifest, aReservation, NEVER, recordOf } from '../../fixture/build.ts'
import { poll } from '../../time/poll.ts'
import { aPlan, aTenant, PLAN } from '../rig/resource.ts'
import { type Found, type Rig, startRig } from '../rig/rig.ts'

let rig: Rig
beforeAll(async () => {
  rig = await startRig()
  await rig.apply(aPlan(PLAN, { renderLimitMonthly: 1000 }))
})
afterAll(() => rig[Symbol.asyncDispose]())

const month = monthOf(Date.now())

/**
 * Makes a tenant that has used and reserved units of a thousand, and returns it once its status shows them. It gets its plan last: before
 * that nobody reads its usage, so the first figures shown are all of them.
 */
async function usingTenant(name: string, { used, reserved }: { used: number; reserved: number }): Promise<Found> {
  await rig.apply(aTenant(name, { planRef: { name } }))
  await rig.says(`tenant/${name}`, { Ready: 'PlanNotFound' })
  const { uid: account } = (await rig.get('tenant', name)).metadata
  const limiter = redisLimiter(rig.redis)
  const reserve = async (units: number) => {
    const request = aReservation({ account, period: month, units })
    expect(await limiter.reserve(request, NEVER)).toMatchObject({ kind: 'admitted' })
    return recordOf(request)
  }
  await limiter.complete(aManifest({ record: await reserve(used) }), NEVER)
  await limiter.confirm(await reserve(reserved), NEVER)
  await rig.apply(aPlan(name, { renderLimitMonthly: 1000 }))
  await poll(() => rig.get('tenant', name)).until(({ status }) => status?.['usage'] !== undefined)
  await rig.says(`tenant/${name}`, { Ready: 'InForce', Propagated: 'Propagated' })
  return rig.get('tenant', name)
}

test('a tenant shows what it has used, and keeps it when the operator starts again on an empty Redis', async () => {
  await rig.apply(aTenant('idle'))
  const shown = await usingTenant('spender', { used: 600, reserved: 300 })
  const usage = { month, used: 600, reserved: 300, limit: 1000, readAt: expect.stringMatching(/Z$/) }
  expect(shown.status?.['usage']).toEqual(usage)
  const table = await rig.kubectl('get', 'tenants')
  expect(table).toMatch(/^NAME +PLAN +SUSPENDED +USED +LIMIT /)
  expect(table).toMatch(/^spender +spender +false +600 +1000 /m)
  expect(table).toMatch(/^idle +basic +false +1000 /m)
  expect(await rig.kubectl('explain', 'tenant.status.usage')).toMatch(/used\s+<integer> -required-/)

  await rig.cluster.kill()
  await rig.redis.call((client) => client.flushall(), AbortSignal.timeout(5000))
  await rig.cluster.start()
  // Both are read in one batch, so the operator has read the first tenant by then.
  await usingTenant('later', { used: 1, reserved: 1 })
  const after = await rig.get('tenant', 'spender')
  expect(after.status?.['usage']).toEqual(shown.status?.['usage'])
  expect((await rig.get('tenant', 'idle')).status).not.toHaveProperty('usage')
})

test('figures that somebody else writes into a status are repaired', async () => {
  const { status } = await usingTenant('forged', { used: 5, reserved: 5 })
  const patch = JSON.stringify({ status: { usage: { used: 1, limit: null } } })
  await rig.kubectl('patch', 'tenant', 'forged', '--subresource=status', '--type=merge', `--patch=${patch}`)
  await poll(() => rig.get('tenant', 'forged')).until((found) => isDeepStrictEqual(found.status, status))
})
