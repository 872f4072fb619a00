/** What the statuses of tenants say of whatever stands in the way of their settings, and what stays in force meanwhile. */
import { ERASURE_PREFIX } from '@platen/contract/domain/erasure.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { NEVER } from '../../fixture/build.ts'
import { poll } from '../../time/poll.ts'
import { SERVICE_BUCKET } from '../../topology/cluster/cluster.ts'
import { openStore } from '../../topology/server/s3.ts'
import { anApiKey, aPlan, aTemplate, aTenant, PLAN } from '../rig/resource.ts'
import { type Published, type Rig, startRig } from '../rig/rig.ts'

let rig: Rig
let neighbour: Published
beforeAll(async () => {
  rig = await startRig()
  await rig.apply(aPlan(PLAN, { htmlEngineEnabled: true }), aTenant('neighbour'))
  await rig.apply(aTemplate('neighbour', 'neighbour'), anApiKey('neighbour', 'neighbour'))
  neighbour = await rig.publishes('neighbour', ({ keys, templates }) => keys.length > 0 && templates.length > 0)
})
afterEach(() => expect(rig.published('neighbour')).toEqual(neighbour))
afterAll(() => rig[Symbol.asyncDispose]())

test('a tenant without a plan is not served, and is as soon as there is one', async () => {
  await rig.apply(aTenant('early', { planRef: { name: 'late' } }), anApiKey('early', 'early'))
  const tenant = await rig.says('tenant/early', { Ready: 'PlanNotFound', PlanResolved: 'PlanNotFound' })
  expect(tenant).toMatchObject({ Ready: 'there is no Plan late', Published: 'there is no Plan late' })
  const { Ready } = await rig.says('apikey/early', { Accepted: 'TenantNotReady', Ready: 'TenantNotReady' })
  expect(Ready).toBe('Tenant early is not ready: see its conditions')
  expect(rig.published('early')).toEqual({ tenant: undefined, keys: [], templates: [] })
  await rig.apply(aPlan('late'))
  await rig.says('tenant/early', { Ready: 'InForce', PlanResolved: 'PlanResolved', Published: 'Published' })
  await rig.says('apikey/early', { Ready: 'InForce', Accepted: 'Accepted' })
  await rig.says('plan/late', { Ready: 'InForce', InUse: 'InUse' })
  await rig.publishes('early', ({ keys }) => keys.length === 1)
})

test('a plan that nobody names says so', async () => {
  await rig.apply(aPlan('unused'))
  const { InUse } = await rig.says('plan/unused', { Ready: 'InForce', InUse: 'NotInUse' })
  expect(InUse).toBe('no Tenant names Plan unused in planRef')
})

test('limits that contradict each other leave those before in force', async () => {
  await rig.apply(aPlan('contrary', { htmlEngineEnabled: true, renderLimitMonthly: 100 }))
  await rig.apply(aTenant('contrary', { planRef: { name: 'contrary' } }))
  await rig.says('tenant/contrary', { Ready: 'InForce' })
  await rig.apply(aPlan('contrary', { htmlEngineEnabled: true, renderLimitMonthly: 3, htmlEngineRenderMultiplier: 5 }))
  const plan = await rig.says('plan/contrary', { Ready: 'InvalidLimits' })
  expect(plan['Ready']).toContain('htmlEngineRenderMultiplier is greater than renderLimitMonthly')
  expect(rig.published('contrary').tenant?.limits).toMatchObject({ renderLimitMonthly: 100 })
  await rig.apply(aPlan('contrary', { htmlEngineEnabled: true, renderLimitMonthly: 200 }))
  await rig.publishes('contrary', ({ tenant }) => tenant?.limits.renderLimitMonthly === 200)

  await rig.apply(
    aTenant('contrary', { planRef: { name: 'contrary' }, overrides: { htmlEngineRenderMultiplier: 300 } }),
  )
  const tenant = await rig.says('tenant/contrary', { Ready: 'InvalidEffectiveLimits' })
  expect(tenant['Ready']).toContain('overrides contradict the limits of the plan: htmlEngineRenderMultiplier')
  expect(rig.published('contrary').tenant?.limits).toMatchObject({ htmlEngineRenderMultiplier: 1 })
})

test('a plan that never made sense gives its tenants nothing', async () => {
  await rig.apply(aPlan('absurd', { htmlEngineEnabled: true, renderLimitMonthly: 3, htmlEngineRenderMultiplier: 5 }))
  await rig.apply(aTenant('absurd', { planRef: { name: 'absurd' } }))
  const { PlanResolved } = await rig.says('tenant/absurd', { Ready: 'PlanNotReady', PlanResolved: 'PlanNotReady' })
  expect(PlanResolved).toBe('Plan absurd is not ready: fix its limits')
  expect(rig.published('absurd').tenant).toBeUndefined()
})

test('a storage prefix is of one tenant', async () => {
  await rig.apply(aTenant('owner', { storage: { prefix: 'pdf/owner/' } }))
  await rig.says('tenant/owner', { Ready: 'InForce' })
  await rig.apply(aTenant('mover', { storage: { prefix: 'pdf/mover/' } }))
  await rig.says('tenant/mover', { Ready: 'InForce', Accepted: 'Accepted' })
  await rig.apply(
    aTenant('mover', { storage: { prefix: 'pdf/owner/mine/' } }),
    aTenant('parent', { storage: { prefix: 'pdf/' } }),
    aTenant('manifest'),
  )
  const mover = await rig.says('tenant/mover', { Ready: 'PrefixTaken', Accepted: 'PrefixTaken' })
  expect(mover['Accepted']).toBe('storage.prefix overlaps that of Tenant owner')
  const { Ready } = await rig.says('tenant/parent', { Ready: 'PrefixTaken' })
  expect(Ready).toMatch(/^storage\.prefix overlaps that of Tenant (owner|mover)$/)
  const service = await rig.says('tenant/manifest', { Ready: 'PrefixTaken' })
  expect(service['Ready']).toBe('storage.prefix overlaps that of the service')
  expect(rig.published('mover').tenant?.storage.prefix).toBe('pdf/mover/')
  expect(rig.published('parent').tenant).toBeUndefined()
})

test('a tenant that is suspended says why, and is active again when it is not', async () => {
  await rig.apply(aTenant('debtor'))
  const before = await rig.says('tenant/debtor', { Ready: 'InForce', Suspended: 'Active' })
  expect(before['Suspended']).toBe('renders are accepted')
  await rig.apply(aTenant('debtor', { suspend: true, suspendReason: 'the invoice of March is open' }))
  const { Suspended } = await rig.says('tenant/debtor', { Ready: 'InForce', Suspended: 'Suspended' })
  expect(Suspended).toBe('the invoice of March is open')
  await rig.publishes('debtor', ({ tenant }) => tenant?.suspended === true)
  await rig.apply(aTenant('debtor'))
  await rig.says('tenant/debtor', { Suspended: 'Active' })
  await rig.publishes('debtor', ({ tenant }) => tenant?.suspended === false)
})

test('more namespaces than a tenant may have are refused at once', async () => {
  const namespaces = Array.from({ length: 1000 }, (_, at) => `team-${at}`)
  await expect(rig.apply(aTenant('crowd', { namespaces }))).rejects.toThrow(/spec\.namespaces.*64/)
})

test('the erasure of a deleted tenant is ordered before the tenant disappears, if its deletionPolicy says so', async () => {
  const { s3 } = rig.cluster
  await rig.apply(aTenant('leaver', { deletionPolicy: 'Delete' }), aTenant('keeper', { deletionPolicy: 'Retain' }))
  for (const name of ['leaver', 'keeper']) await rig.says(`tenant/${name}`, { Ready: 'InForce' })
  const { uid } = (await rig.get('tenant', 'leaver')).metadata
  await rig.kubectl('delete', 'tenant', 'leaver', 'keeper')
  using artifacts = await openStore(s3)
  const orders = await Array.fromAsync(artifacts.list(SERVICE_BUCKET, ERASURE_PREFIX, NEVER))
  expect(orders.map(({ key }) => key)).toEqual([`erasure/${uid}/all.json`])
})

test('a declared account outlives the Tenant, and its erasure keeps it from the next one', async () => {
  const declared = aTenant('heir', { accountId: 'shared' })
  const { published } = rig
  await rig.apply(declared, aTenant('heir-2', { accountId: 'shared' }))
  await rig.says('tenant/heir', { Ready: 'InForce' })
  const { Accepted } = await rig.says('tenant/heir-2', { Ready: 'AccountTaken', Accepted: 'AccountTaken' })
  expect(Accepted).toBe('Tenant heir is older and has the account shared; this one waits until that is gone')
  expect([published('heir').tenant?.account, published('heir-2').tenant]).toEqual(['shared', undefined])
  await rig.kubectl('delete', 'tenant', 'heir-2')

  await rig.kubectl('delete', 'tenant', 'heir')
  await rig.publishes('heir', ({ tenant }) => tenant === undefined)
  await rig.apply(declared)
  await rig.publishes('heir', ({ tenant }) => tenant?.account === 'shared')

  await rig.apply(aTenant('heir', { accountId: 'shared', deletionPolicy: 'Delete' }))
  await rig.says('tenant/heir', { Ready: 'InForce' })
  await rig.kubectl('delete', 'tenant', 'heir')
  await rig.apply(declared)
  const { Ready } = await rig.says('tenant/heir', { Ready: 'AccountErased', Accepted: 'AccountErased' })
  expect(Ready).toContain('renders of the account shared are being erased until')
  expect(published('heir').tenant).toBeUndefined()
})

test('an account can be declared later only as it is', async () => {
  await rig.apply(aTenant('late'))
  await rig.says('tenant/late', { Ready: 'InForce' })
  const { metadata, status } = await rig.get('tenant', 'late')
  expect(status).toMatchObject({ accountId: metadata.uid })
  await expect(rig.apply(aTenant('late', { accountId: 'another' }))).rejects.toThrow(/accountId cannot be changed/)
  await rig.apply(aTenant('late', { accountId: metadata.uid }))
  await rig.says('tenant/late', { Ready: 'InForce' })
  expect(rig.published('late').tenant?.account).toBe(metadata.uid)
})

test('the last limits of a plan that is gone outlive the operator, and all that Redis held', async () => {
  await rig.apply(aPlan('fleeting', { renderLimitMonthly: 77, rateLimitPerMinute: 7 }))
  await rig.apply(aTenant('orphan', { planRef: { name: 'fleeting' }, overrides: { retentionDays: 5 } }))
  await rig.says('tenant/orphan', { Ready: 'InForce' })
  const limits = { ...DEFAULT_LIMITS, renderLimitMonthly: 77, rateLimitPerMinute: 7, retentionDays: 5 }
  const isKept = async () => {
    const { PlanResolved } = await rig.says('tenant/orphan', { Ready: 'PlanNotFound', PlanResolved: 'PlanNotFound' })
    expect(PlanResolved).toBe('there is no Plan fleeting')
    expect((await rig.stored('orphan')).tenant?.limits).toEqual(limits)
    expect((await rig.get('tenant', 'orphan')).status).toMatchObject({ effective: limits })
  }
  await rig.kubectl('delete', 'plan', 'fleeting')
  await isKept()
  await rig.cluster.stop()
  await rig.cluster.start()
  await isKept()
  await rig.cluster.kill()
  await rig.redis.call((client) => client.flushall(), AbortSignal.timeout(5000))
  await rig.cluster.start()
  await poll(() => rig.stored('orphan')).until(({ tenant }) => tenant !== undefined)
  await isKept()
})
