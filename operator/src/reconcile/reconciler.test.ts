import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import type { Uid } from '@platen/contract/domain/resource.ts'
import { DEFAULT_LIMITS, type KeyHash, type TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { openCompilation } from '@platen/settings/compilation/compilation.ts'
import { NO_PREVIOUS } from '@platen/settings/compilation/compile.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { NEVER, SILENT } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { aKeyHash, anApiKeyResource, aPlanResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { WorkQueue } from '../queue/work-queue.ts'
import type { KindHandler, Prepared } from './kind-handler.ts'
import { RECONCILE_WORKERS } from './limit.ts'
import { packStatus } from './packed-status.ts'
import { Propagation } from './propagation.ts'
import { Publication } from './publication.ts'
import { Reconciler, STATUS_COUNTS_DELAY_MS } from './reconciler.ts'
import { FINALIZER, hasSameSpec, keyOfResource, type ResourceView } from './resource-view.ts'
import type { Status } from './status.ts'

const ACME = 'acme' as TenantId
const HASH = 'a'.repeat(64) as KeyHash
const nothing = () => undefined
const UNCOUNTED = { added: nothing, deferred: nothing, taken: nothing, done: nothing }

/** A reconciler of tenant `acme` and its key `ci`, which are in force. A preparation waits while a test holds it. */
async function reconciling() {
  const clock = manualClock(0)
  const ids = seededIds('reconciler')
  const directory = memoryDirectory()
  const facts = { configMaps: new Map(), checks: new Map(), webhookSecrets: new Map(), foundKeys: new Map() }
  const compilation = openCompilation({
    facts,
    previous: NO_PREVIOUS,
    serviceBucket: 'platen',
    defaults: DEFAULT_LIMITS,
  })
  const publisher = {
    revision: () => (scene.isRedisEmpty ? 0 : directory.current().revision),
    nextRevision: () => directory.current().revision + 1,
    isPublished: () => false,
    repair: async () => false,
    publish: async (snapshot: DirectorySnapshot, signal: AbortSignal) => {
      if (scene.isRedisAway) throw new Unavailable('Redis is unavailable')
      await directory.publish(snapshot, signal)
    },
  }
  const publication = new Publication({
    compilation,
    publisher,
    meter: { published: nothing },
    clock,
    onChanged: nothing,
  })
  const held = new Map<string, ResourceView>()
  const resources = { get: (key: string) => held.get(key), all: () => [...held.values()] }
  const queue = new WorkQueue({ clock, ids, meter: UNCOUNTED })
  const readEnforced = async () => ({ all: 1, behind: 0, revision: directory.current().revision, isCertain: true })
  const propagation = new Propagation({ readEnforced, onEnforced: (key) => queue.add(key), clock, log: SILENT })
  let gate: Promise<void> = Promise.resolve()
  const scene = {
    isRedisAway: false,
    isRedisEmpty: false,
    isPending: false,
    needsPreparing: false,
    prepared: 0,
    forgotten: 0,
    /** Those that were asked for when a resource was prepared. */
    rotations: new Set<string | undefined>(),
  }
  const handler: KindHandler = {
    prepare: async ({ rotation }): Promise<Prepared> => {
      await gate
      scene.prepared++
      scene.rotations.add(rotation)
      return scene.isPending ? { isPending: true } : {}
    },
    needsPreparing: () => scene.needsPreparing,
    restore: nothing,
    forget: () => void scene.forgotten++,
  }
  const statuses: Status[] = []
  const client = {
    apply: async () => WRITTEN,
    mergePatch: async (_at: object, patch: object) => {
      statuses.push(Object(patch).status)
      return WRITTEN
    },
  }
  const reconciler = new Reconciler({
    resources,
    compilation,
    publication,
    propagation,
    usageOf: nothing,
    queue,
    client,
    clock,
    handlers: { Plan: handler, Tenant: handler, Template: handler, ApiKey: handler },
    events: { transition: async () => undefined, warning: async () => undefined },
  })
  const declare = (declared: ResourceView) => {
    const key = keyOfResource(declared.resource)
    const before = held.get(key)
    held.set(key, declared)
    const isSpecChange = before === undefined || !hasSameSpec(before, declared)
    reconciler.onChange({ key, priority: 'live', isSpecChange })
  }
  const remove = (key: string) => {
    held.delete(key)
    reconciler.onChange({ key, priority: 'live', isSpecChange: true })
  }
  for (const resource of [aPlanResource(), aTenantResource(), anApiKeyResource()]) declare(declared(resource))
  await reconciler.start(NEVER)
  void publication.run(NEVER)
  void propagation.run(NEVER)
  await clock.advance(0)
  return {
    reconciler,
    scene,
    statuses,
    declare,
    remove,
    settle: () => clock.advance(0),
    /** Returns the keys that are queued by then, and takes them out. */
    async queuedAfter(ms: number) {
      await clock.advance(ms)
      const { live, resync } = queue.state().waiting
      const keys = await Promise.all(Array.from({ length: live + resync }, () => queue.take(NEVER)))
      for (const key of keys) if (key !== undefined) queue.done(key)
      return keys
    },
    now: () => ({ tenant: directory.current().tenants.get(ACME), key: directory.current().keys.get(HASH) }),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
  }
}

const WRITTEN = { metadata: { name: 'any', uid: 'any', resourceVersion: '2' } }

function declared(resource: ResourceView['resource'], parts: Partial<ResourceView> = {}): ResourceView {
  return {
    resource,
    isDeleting: false,
    finalizers: [FINALIZER],
    status: packStatus({}),
    resourceVersion: '1',
    ...parts,
  }
}

const tenant = (spec: object, generation = 2) => declared(aTenantResource({ metadata: { generation }, spec }))
const key = (spec: object, generation = 2) => declared(anApiKeyResource({ metadata: { generation }, spec }))
const KEY = 'ApiKey team-acme/ci'
const HEIR = { metadata: { uid: 'uid of another' as Uid } }

let rig: Awaited<ReturnType<typeof reconciling>>
beforeEach(async () => {
  rig = await reconciling()
  expect(rig.now()).toMatchObject({ tenant: { suspended: false }, key: { suspended: false } })
})

describe('before anybody has looked at it', () => {
  test('a tenant or key that is suspended is suspended', async () => {
    rig.declare(tenant({ suspend: true }))
    rig.declare(key({ suspend: true }))
    await rig.settle()
    expect(rig.now()).toMatchObject({ tenant: { suspended: true }, key: { suspended: true } })
    expect(rig.statuses).toEqual([])
  })

  test.for([
    ['on its way out', () => rig.declare(declared(anApiKeyResource(), { isDeleting: true }))],
    ['gone', () => rig.remove(KEY)],
    ['another of its name', () => rig.declare(declared(anApiKeyResource(HEIR)))],
  ] as const)('a key that is %s opens nothing', async ([, act]) => {
    act()
    await rig.settle()
    expect(rig.now().key).toBeUndefined()
  })
})

describe('a look that began before', () => {
  test('takes back nothing that was changed since', async () => {
    rig.declare(key({ expiresAt: '2090-01-01T00:00:00Z' }))
    const release = rig.hold()
    const look = rig.reconciler.reconcile(KEY, NEVER)
    rig.declare(key({ suspend: true }, 3))
    await rig.settle()
    release()
    await look
    expect(rig.now().key).toMatchObject({ suspended: true })
  })

  test('reports nothing that was changed since', async () => {
    await rig.reconciler.reconcile(KEY, NEVER)
    // By now the enforced revision is known.
    await rig.settle()
    rig.declare(key({ description: 'one' }))
    const release = rig.hold()
    const look = rig.reconciler.reconcile(KEY, NEVER)
    rig.declare(key({ description: 'other' }, 3))
    await rig.settle()
    release()
    await look
    expect(rig.statuses).toEqual([])
    await rig.reconciler.reconcile(KEY, NEVER)
    expect(rig.statuses).toMatchObject([{ observedGeneration: 3 }])
  })

  test('brings back nothing that was removed since', async () => {
    const release = rig.hold()
    const look = rig.reconciler.reconcile(KEY, NEVER)
    rig.remove(KEY)
    await rig.settle()
    release()
    await look
    expect(rig.now().key).toBeUndefined()
    await rig.reconciler.reconcile(KEY, NEVER)
    expect(rig.now().key).toBeUndefined()
  })
})

test('what waits for something is neither published nor reported until that has come', async () => {
  await rig.reconciler.reconcile(KEY, NEVER)
  await rig.settle()
  rig.statuses.length = 0
  rig.scene.isPending = true
  rig.declare(declared(anApiKeyResource(HEIR)))
  await rig.reconciler.reconcile(KEY, NEVER)
  await rig.reconciler.reconcile(KEY, NEVER)
  expect([rig.now().key, rig.statuses]).toEqual([undefined, []])
  rig.scene.isPending = false
  rig.reconciler.markDirty(KEY)
  await rig.reconciler.reconcile(KEY, NEVER)
  expect(rig.now().key).toMatchObject({ suspended: false })
})

test('what waits for something and is removed is forgotten, in force or not', async () => {
  rig.scene.isPending = true
  rig.remove(KEY)
  await rig.reconciler.reconcile(KEY, NEVER)
  expect(rig.scene.forgotten).toBe(1)
  rig.declare(declared(anApiKeyResource(HEIR)))
  await rig.reconciler.reconcile(KEY, NEVER)
  rig.remove(KEY)
  await rig.reconciler.reconcile(KEY, NEVER)
  expect(rig.scene.forgotten).toBe(2)
})

test('a resource that can be prepared now but could not before is prepared at the next reconcile', async () => {
  await rig.reconciler.reconcile(KEY, NEVER)
  const before = rig.scene.prepared
  await rig.reconciler.reconcile(KEY, NEVER)
  expect(rig.scene.prepared).toBe(before)
  rig.scene.needsPreparing = true
  await rig.reconciler.reconcile(KEY, NEVER)
  expect(rig.scene.prepared).toBe(before + 1)
})

test('a key is prepared again when its finalizer is taken away, and not when it is there', async () => {
  await rig.reconciler.reconcile(KEY, NEVER)
  const before = rig.scene.prepared
  const preparedAfter = async (parts: Partial<ResourceView>) => {
    rig.declare(declared(anApiKeyResource(), parts))
    await rig.reconciler.reconcile(KEY, NEVER)
    return rig.scene.prepared - before
  }
  expect(await preparedAfter({ finalizers: [] })).toBe(1)
  expect(await preparedAfter({ finalizers: [FINALIZER], resourceVersion: '2' })).toBe(1)
})

test('a key that was created again under its name and changed at once is reconciled as it was changed', async () => {
  rig.declare(declared(anApiKeyResource(HEIR)))
  const look = rig.reconciler.reconcile(KEY, NEVER)
  rig.declare(declared(anApiKeyResource({ metadata: { ...HEIR.metadata, generation: 2 }, spec: { suspend: true } })))
  await look
  await rig.reconciler.reconcile(KEY, NEVER)
  expect(rig.now().key).toMatchObject({ suspended: true })
})

test('a tenant counts a key whose first publish failed', async () => {
  rig.scene.isRedisAway = true
  rig.declare(declared(anApiKeyResource({ metadata: { name: 'two' }, spec: { sha256: aKeyHash('b') } })))
  await expect(rig.reconciler.reconcile('ApiKey team-acme/two', NEVER)).rejects.toThrow(Unavailable)
  rig.scene.isRedisAway = false
  await rig.reconciler.reconcile('ApiKey team-acme/two', NEVER)
  await rig.queuedAfter(0)
  expect(await rig.queuedAfter(STATUS_COUNTS_DELAY_MS)).toContain('Tenant acme')
})

test('what changes while others are prepared, as Redis is empty at a start, is prepared as it is then', async () => {
  const aKey = (at: number, parts: Partial<ResourceView> = {}) =>
    declared(anApiKeyResource({ metadata: { name: `key-${at}`, uid: `uid-${at}` as Uid } }), {
      status: packStatus({ observedGeneration: 1 }),
      ...parts,
    })
  for (let at = 0; at <= RECONCILE_WORKERS; at++) rig.declare(aKey(at))
  rig.scene.isRedisEmpty = true
  const release = rig.hold()
  const start = rig.reconciler.start(NEVER)
  rig.declare(aKey(RECONCILE_WORKERS, { rotation: '2026-01-01T00:00:00Z' }))
  release()
  await start
  await rig.reconciler.reconcile(`ApiKey team-acme/key-${RECONCILE_WORKERS}`, NEVER)
  expect(rig.scene.rotations).toContain('2026-01-01T00:00:00Z')
})
