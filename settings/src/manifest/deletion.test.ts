import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { manualClock } from '@platen/adapters/memory/clock.ts'
import { decodeErasure, ERASURE_PREFIX } from '@platen/contract/erasure.ts'
import type { Uid } from '@platen/contract/resource.ts'
import { expect, test } from 'vitest'
import { NEVER, NOON } from '../../../test/fixture/build.ts'
import { aTenantResource } from '../../../test/fixture/resource.ts'
import { keepDeletions, orderErasures } from './deletion.ts'

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
