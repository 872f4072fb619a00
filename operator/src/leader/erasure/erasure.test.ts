import type { ErasureSpec, ErasureStatus } from '@platen/contract/domain/crd/erasure.ts'
import { decodeErasure, encodeErasure, type ListedErasureOrder } from '@platen/contract/domain/erasure.ts'
import { expect, test } from 'vitest'
import { aRenderId, aTenant, NEVER } from '../../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'
import { aTenantResource } from '../../../../test/fixture/resource.ts'
import type { KubeObject } from '../../cluster/object.ts'
import { type ObjectLocation, pathOf } from '../../cluster/path.ts'
import { packStatus } from '../../reconcile/packed-status.ts'
import type { ResourceView } from '../../reconcile/resource-view.ts'
import { ERASURE_POLL_MS_MAX, ERASURE_POLL_MS_MIN, reconcileErasure } from './erasure.ts'
import type { ErasureView } from './status.ts'

const SECOND = 1000
const DAY = 24 * 3600 * SECOND
/** Half a second after the time that Kubernetes notes. */
const NOON = Date.UTC(2026, 10, 22, 12) + 500
const WAITING = aRenderId(NOON)
const LISTED = { renders: [aRenderId(NOON), WAITING] }
const ALL = { allRenders: true }

interface World {
  /** The account of the tenant that its name stands for; undefined = there is none. */
  account?: string | undefined
  isInForce?: boolean
}

/** An Erasure, and what an operator sees and does. */
function scene(spec: Omit<ErasureSpec, 'tenantRef'>, { namespace = 'team-acme' } = {}) {
  const clock = manualClock(NOON)
  const artifacts = memoryArtifactStore()
  const world: World & { status: ErasureStatus; writes: number; removed: string[] } = {
    account: 'account-1',
    isInForce: true,
    status: { observedGeneration: -1 },
    writes: 0,
    removed: [],
  }
  const view = (): ErasureView => ({
    metadata: { name: 'gdpr-1', namespace, uid: 'uid-1', generation: 1, createdAt: NOON - 500 },
    isDeleting: false,
    spec: { tenantRef: { name: 'acme' }, ...spec },
    status: world.status,
  })
  const reconcile = () => reconcileErasure(view(), options, NEVER)
  const options = {
    client: {
      list: unused,
      watch: unused,
      async mergePatch(at: ObjectLocation, patch: object): Promise<KubeObject> {
        expect(pathOf(at)).toBe(`/apis/platen.dev/v1alpha1/namespaces/${namespace}/erasures/gdpr-1/status`)
        const { status } = patch as { readonly status: ErasureStatus }
        world.status = JSON.parse(JSON.stringify({ ...world.status, ...status }))
        world.writes += 1
        return { metadata: { name: 'gdpr-1', uid: 'uid-1', resourceVersion: '1' } }
      },
      async remove(at: ObjectLocation, uid: string) {
        world.removed.push(`${pathOf(at)} ${uid}`)
      },
    },
    artifacts,
    serviceBucket: 'platen',
    namespace: 'platen',
    resources: { get: () => (world.account === undefined ? undefined : TENANT) },
    inForce: () => (world.isInForce ? aTenant({ account: world.account ?? '' }) : undefined),
    requestsKept: [{ topic: 'render.dead', keptMs: 7 * DAY }],
    clock,
  }
  const orders = async () => {
    const addresses = await Array.fromAsync(artifacts.list('platen', '', NEVER))
    return addresses.map(({ key }) => key)
  }
  /** Writes into the one order, as an events process does. */
  const workOff = async (found: Partial<ListedErasureOrder>) => {
    const [key = ''] = await orders()
    const order = decodeErasure((await artifacts.get({ bucket: 'platen', key }, NEVER)) ?? Buffer.of())
    const worked = { ...order, workedOffAt: clock.now(), ...found }
    await artifacts.put({ bucket: 'platen', key }, encodeErasure(worked), NEVER)
    return order
  }
  const ready = () => {
    const [first, second] = world.status.conditions ?? []
    expect(second?.reason).toBe(first?.status === 'True' ? undefined : first?.reason)
    return `${first?.type} ${first?.status} ${first?.reason}: ${first?.message}`
  }
  return { clock, artifacts, world, reconcile, orders, workOff, ready }
}

const TENANT: ResourceView = {
  resource: aTenantResource({ spec: { namespaces: ['team-acme'] } }),
  isDeleting: false,
  finalizers: [],
  status: packStatus({}),
  resourceVersion: '1',
}

function unused(): never {
  throw new Error('the informer alone does this')
}

test('listed renders are ordered once under the uid, and the status counts them until all are accounted for', async () => {
  const { world, reconcile, orders, workOff, ready, clock } = scene(LISTED)
  expect(await reconcile()).toBe(ERASURE_POLL_MS_MIN)
  expect(await orders()).toEqual(['erasure-request/uid-1.json'])
  expect(ready()).toBe('Ready False Ordered: no events process has completed a round yet')
  expect(world.status).toMatchObject({ observedGeneration: 1, accountId: 'account-1', notFound: 0, unfinished: 2 })
  const until = '2026-11-30T12:00:00Z'
  expect(world.status.kafka).toEqual([{ topic: 'render.dead', until }])
  const order = await workOff({ erased: 1, notFound: 0, unfinished: [WAITING] })
  expect(order).toMatchObject({ ...LISTED, tenant: 'acme', account: 'account-1', by: 'Erasure team-acme/gdpr-1' })
  expect(order.before).toBeUndefined()
  await reconcile()
  expect(ready()).toContain('Ready False Unfinished: 1 of 2 renders may wait or run')
  expect(world.status).toMatchObject({ erased: 1, unfinished: 1, workedOffAt: '2026-11-22T12:00:00Z' })
  await reconcile()
  expect(world.writes).toBe(2)
  await clock.advance(DAY)
  expect(await reconcile()).toBe(ERASURE_POLL_MS_MAX)
  await workOff({ erased: 1, notFound: 1, unfinished: [] })
  await reconcile()
  expect(ready()).toBe('Ready True Erased: 1 erased, 1 not found')
  expect(await reconcile()).toBeUndefined()
  expect(world.removed).toEqual([])
})

test('all renders are ordered as by platen erase, up to the end of the second of creation, and are erased after the last round', async () => {
  const { world, artifacts, reconcile, orders, workOff, ready, clock } = scene(ALL)
  await reconcile()
  const before = NOON + 500
  const key = `erasure/account-1/${before}.json`
  expect(await orders()).toEqual([key])
  expect(await workOff({ erased: 7 })).toMatchObject({ before, storage: aTenant().storage })
  await reconcile()
  expect(ready()).toContain('Ready False Unfinished: 7 erased; renders that waited, ran or had just ended')
  expect(ready()).toContain('until 2026-11-30')
  expect(world.status).not.toHaveProperty('unfinished')
  await clock.advance(8 * DAY)
  await artifacts.delete({ bucket: 'platen', key }, NEVER)
  world.account = undefined
  await reconcile()
  expect(ready()).toBe('Ready True Erased: 7 erased')
  expect(world.status).toMatchObject({ erased: 7, accountId: 'account-1', kafka: [{ topic: 'render.dead' }] })
})

test('an order that was lost is given again, but never to erase another account', async () => {
  const { world, artifacts, reconcile, orders, ready } = scene(ALL)
  await reconcile()
  const [key = ''] = await orders()
  await artifacts.delete({ bucket: 'platen', key }, NEVER)
  await reconcile()
  expect(await orders()).toEqual([key])
  await artifacts.delete({ bucket: 'platen', key }, NEVER)
  world.account = 'account-2'
  await reconcile()
  expect(await orders()).toEqual([])
  expect(ready()).toBe('Ready False TenantNotFound: the account account-1 is that of no Tenant any more')
})

test.for([
  ['no Tenant', { account: undefined }, 'team-acme', 'TenantNotFound'],
  ['a Tenant that does not list the namespace', {}, 'team-globex', 'TenantNotFound'],
  ['a Tenant that was never in force', { isInForce: false }, 'team-acme', 'TenantNotReady'],
  ['no Tenant, from the namespace of the operator', { account: undefined }, 'platen', 'TenantNotFound'],
] as const)('nothing is ordered for %s, until there is one', async ([, change, namespace, reason]) => {
  const { world, reconcile, orders, ready } = scene(LISTED, { namespace })
  Object.assign(world, change)
  expect(await reconcile()).toBe(ERASURE_POLL_MS_MIN)
  expect(await orders()).toEqual([])
  expect(ready()).toContain(`Ready False ${reason}: `)
  Object.assign(world, { account: 'account-1', isInForce: true })
  await reconcile()
  expect(await orders()).toHaveLength(namespace === 'team-globex' ? 0 : 1)
})

test('the namespace of the operator may name every tenant', async () => {
  const { reconcile, orders } = scene(LISTED, { namespace: 'platen' })
  await reconcile()
  expect(await orders()).toHaveLength(1)
})

test('a finished Erasure is deleted when its time is over, and an unfinished one never', async () => {
  const { world, reconcile, workOff, clock } = scene({ ...LISTED, ttlSecondsAfterFinished: 60 })
  await reconcile()
  await clock.advance(DAY)
  await reconcile()
  expect(world.removed).toEqual([])
  await workOff({ erased: 2, notFound: 0, unfinished: [] })
  await reconcile()
  // The time of a condition is in whole seconds.
  expect(await reconcile()).toBe(59_500)
  await clock.advance(59_500)
  expect(await reconcile()).toBeUndefined()
  expect(world.removed).toEqual(['/apis/platen.dev/v1alpha1/namespaces/team-acme/erasures/gdpr-1 uid-1'])
})
