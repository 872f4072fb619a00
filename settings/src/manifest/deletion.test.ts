import { decodeErasure, ERASURE_PREFIX } from '@platen/contract/domain/erasure.ts'
import { ERASED_KEPT_DAYS } from '@platen/contract/domain/limit.ts'
import type { Uid } from '@platen/contract/domain/resource.ts'
import { describe, expect, test } from 'vitest'
import { aTenant, NEVER, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { aTenantResource } from '../../../test/fixture/resource.ts'
import { NO_PREVIOUS } from '../compilation/compile.ts'
import { accountErased } from '../compile/tenant/account.ts'
import { findErasedAccounts, keepDeletions, orderErasures } from './deletion.ts'
import type { Identities } from './identity.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const identity = { uid: 'one' as Uid, createdAt: NOON, generation: 1, spec: '' }
const place = `Tenant ${aTenantResource().metadata.name}`

test('the policy of a tenant is kept while it lasts, and orders an erasure once the tenant is gone', async () => {
  const [deletable, retained] = [aTenantResource({ spec: { deletionPolicy: 'Delete' } }), aTenantResource()]
  const kept = keepDeletions([deletable], { [place]: identity }, 'platen')
  expect(keepDeletions([deletable], kept, 'platen')).toBe(kept)
  expect(keepDeletions([retained], kept, 'platen')).toEqual({ [place]: identity })
  const [artifacts, clock] = [memoryArtifactStore(), manualClock(NOON)]
  const store = { artifacts, clock, serviceBucket: 'platen' }
  const orders = async () => {
    const addresses = await Array.fromAsync(artifacts.list('platen', ERASURE_PREFIX, NEVER))
    const bytes = await Promise.all(addresses.map((address) => artifacts.get(address, NEVER)))
    return bytes.map((each) => decodeErasure(each ?? Buffer.of()))
  }
  await orderErasures({ before: kept, after: kept }, store, NEVER)
  await orderErasures({ before: { [place]: identity }, after: {} }, store, NEVER)
  expect(await orders()).toEqual([])
  await orderErasures({ before: kept, after: {} }, store, NEVER)
  await clock.advance(1)
  // Again, as after a kill.
  await orderErasures({ before: kept, after: {} }, store, NEVER)
  const { metadata } = deletable
  const storage = { bucket: 'platen', prefix: `${metadata.name}/` }
  expect(await orders()).toEqual([
    { tenant: metadata.name, account: 'one', storage, orderedAt: NOON, by: 'deletionPolicy' },
  ])
})

describe('the erasure of a declared account', () => {
  const of = (name: string, createdAt: number): Identities[string] => ({
    uid: `uid-of-${name}` as Uid,
    createdAt,
    generation: 1,
    spec: '',
    accountId: 'shared',
    erasedFrom: { bucket: 'platen', prefix: `${name}/` },
  })
  const [first, second] = [{ 'Tenant b': of('b', NOON) }, { 'Tenant a': of('a', NOON + 1), 'Tenant c': of('c', NOON) }]
  const resource = aTenantResource({ spec: { accountId: 'shared' } })
  const opened = () => ({ artifacts: memoryArtifactStore(), clock: manualClock(NOON), serviceBucket: 'platen' })
  const nothing = { previous: NO_PREVIOUS }

  test('is ordered by the tenant that has it, and by no other', async () => {
    const store = opened()
    await orderErasures({ before: { ...second, ...first }, after: first }, store, NEVER)
    expect(await findErasedAccounts([resource], { ...nothing, store }, NEVER)).toEqual(new Map())
    await orderErasures({ before: { ...second, ...first }, after: second }, store, NEVER)
    const { artifacts } = store
    const orders = await Array.fromAsync(artifacts.list('platen', ERASURE_PREFIX, NEVER))
    expect(orders.map(({ key }) => key)).toEqual(['erasure/shared/all.json'])
  })

  test('keeps the account from a tenant that declares it again, until it is over', async () => {
    const store = opened()
    await orderErasures({ before: first, after: {} }, store, NEVER)
    const found = await findErasedAccounts([resource, aTenantResource()], { ...nothing, store }, NEVER)
    expect([...found]).toEqual([[resource.metadata.uid, accountErased('shared', NOON + ERASED_KEPT_DAYS * DAY_MS)]])
  })

  test('is not asked for a tenant in force, which has the account to itself', async () => {
    const store = opened()
    await orderErasures({ before: first, after: {} }, store, NEVER)
    const { uid } = resource.metadata
    const tenants = new Map([[uid, { settings: aTenant() }]])
    expect(await findErasedAccounts([resource], { previous: { tenants }, store }, NEVER)).toEqual(new Map())
  })
})
