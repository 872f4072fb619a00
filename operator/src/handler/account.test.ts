import type { TenantResource, Uid } from '@platen/contract/domain/resource.ts'
import type { Finding } from '@platen/settings/compile/condition.ts'
import { accountErased, accountTaken } from '@platen/settings/compile/tenant/account.ts'
import { erasureEndsAt, orderErasure } from '@platen/settings/publish/order-erasure.ts'
import { expect, test } from 'vitest'
import { aTenant, NEVER, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { aTenantResource } from '../../../test/fixture/resource.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'
import { ACCOUNT_RETRY_MS, AccountCheck } from './account.ts'

const first = aTenantResource({ metadata: { name: 'z-first', createdAt: 1 }, spec: { accountId: 'shared' } })
const second = aTenantResource({ metadata: { name: 'second', createdAt: 2 }, spec: { accountId: 'shared' } })
const { uid } = second.metadata

function opened({ inForce = [] }: { readonly inForce?: readonly Uid[] } = {}) {
  const store = { artifacts: memoryArtifactStore(), clock: manualClock(NOON), serviceBucket: 'platen' }
  const refusals = new Map<Uid, Finding>()
  let declared: readonly TenantResource[] = [second, first]
  // The check reads nothing else of a view.
  const views = () => declared.map((resource) => ({ resource }) as ResourceView)
  const settings = (each: Uid) => (inForce.includes(each) ? aTenant() : undefined)
  const accounts = new AccountCheck({ ports: store, views, inForce: settings, refusals })
  return {
    store,
    refusals,
    accounts,
    declare: (...tenants: readonly TenantResource[]) => {
      declared = tenants
    },
  }
}

test('an account is that of the older tenant until that is gone, also while that is being deleted', async () => {
  const { accounts, refusals, declare } = opened()
  expect(await accounts.run(first, NEVER)).toBeUndefined()
  expect(await accounts.run(second, NEVER)).toBe(NOON + ACCOUNT_RETRY_MS)
  expect([...refusals]).toEqual([[uid, accountTaken(first)]])
  expect(accounts.olderOwner(second)).toBe(first)
  expect(accounts.olderOwner(first)).toBeUndefined()
  declare(second)
  expect(await accounts.run(second, NEVER)).toBeUndefined()
  expect(refusals).toEqual(new Map())
})

test('an account that is being erased is refused until the erasure is over', async () => {
  const { accounts, refusals, declare, store } = opened()
  declare(second)
  await orderErasure(
    { tenant: 'z-first', account: 'shared', storage: { bucket: 'platen', prefix: 'z-first/' } },
    store,
    NEVER,
  )
  const endsAt = (await erasureEndsAt('shared', store, NEVER)) ?? 0
  expect(endsAt).toBeGreaterThan(NOON)
  expect(await accounts.run(second, NEVER)).toBe(NOON + ACCOUNT_RETRY_MS)
  expect(refusals.get(uid)).toEqual(accountErased('shared', endsAt))
  await store.artifacts.delete({ bucket: 'platen', key: 'erasure/shared/all.json' }, NEVER)
  expect(await accounts.run(second, NEVER)).toBeUndefined()
  expect(refusals.size).toBe(0)
})

test('an account is refused until it is checked, so that a store that is away gives nobody an erased one', async () => {
  const { accounts, refusals, declare } = opened()
  declare(second)
  accounts.begin(second)
  expect(refusals.get(uid)).toMatchObject({ isTrue: false, reason: 'StoreUnavailable' })
  await accounts.run(second, NEVER)
  expect(refusals.size).toBe(0)
})

test('an account in force, and one that is a uid, are free without a look', async () => {
  const { accounts, refusals } = opened({ inForce: [uid] })
  for (const tenant of [second, aTenantResource()]) {
    accounts.begin(tenant)
    expect(await accounts.run(tenant, AbortSignal.abort())).toBeUndefined()
  }
  expect(refusals.size).toBe(0)
})
