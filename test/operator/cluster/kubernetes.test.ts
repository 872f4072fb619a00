/** The informer and its client on a real API server, with a network between them that fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { type ClusterClient, openClusterClient } from '@platen/operator/cluster/client.ts'
import { loadKubeConfig } from '@platen/operator/cluster/kubeconfig.ts'
import { pathOf } from '@platen/operator/cluster/path.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { NEVER } from '../../fixture/build.ts'
import { poll } from '../../time/poll.ts'
import { type FaultProxy, openFaultProxy } from '../../topology/proxy/fault-proxy.ts'
import { ADMIN, type KubeServer, startKube } from '../../topology/server/kube.ts'
import { type Followed, follow } from './followed.ts'

const OBJECTS = 200
const WRITERS = 4
const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps' }
const PLANS = { group: 'platen.dev', version: 'v1alpha1', plural: 'plans' }
/** Of each writer between two writes: some hundred in a second are a stream, and leave the cores to others. */
const PAUSE_MS = 20

let kube: KubeServer
let proxy: FaultProxy
beforeAll(async () => {
  kube = await startKube()
  proxy = await openFaultProxy('kubernetes')
})
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]()
  await kube?.[Symbol.asyncDispose]()
})

let stack: AsyncDisposableStack
/** Straight to the API server. */
let client: ClusterClient
let namespaces = 0
let namespace: string
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  proxy.disturb(undefined)
  proxy.towards(kube.port)
  const meter = { requested: () => undefined }
  const config = loadKubeConfig(await kube.kubeconfig(ADMIN))
  client = stack.use(openClusterClient({ config, clock: systemClock(), meter }))
  namespace = `team-${++namespaces}`
  await kube.request({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } })
  return () => stack.disposeAsync()
})

const at = (name: string, where = namespace) => pathOf({ ...CONFIG_MAPS, namespace: where, name })

async function applied(name: string, text: string, where = namespace): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } }
  const path = `${at(name, where)}?fieldManager=test&force=true`
  const { status } = await kube.request({ method: 'PATCH', type: 'application/apply-patch+yaml', path, body })
  expect([200, 201]).toContain(status)
}

function removed(name: string): Promise<unknown> {
  return kube.request({ method: 'DELETE', path: at(name) })
}

/** Follows through the proxy. */
async function followed(clock = systemClock()): Promise<Followed> {
  const config = loadKubeConfig(await kube.kubeconfig(ADMIN, `https://127.0.0.1:${proxy.port}`))
  const informer = stack.use(follow({ config, of: CONFIG_MAPS, clock }))
  await informer.synced
  return informer
}

async function listed(): Promise<Readonly<Record<string, string>>> {
  const { items } = await client.list(CONFIG_MAPS, { limit: 0 }, NEVER)
  return Object.fromEntries(
    items.map(({ metadata: { namespace, name, resourceVersion } }) => [`${namespace}/${name}`, resourceVersion]),
  )
}

/** Writes and removes, some at once, until it is told to stop; resolves to how many times. */
function writing(signal: AbortSignal): Promise<number> {
  let writes = 0
  const writer = async () => {
    while (!signal.aborted) {
      const name = `note-${writes % OBJECTS}`
      writes += 1
      await (writes % 7 === 0 ? removed(name) : applied(name, `${writes}`))
      await sleep(PAUSE_MS)
    }
  }
  return Promise.all(Array.from({ length: WRITERS }, writer)).then(() => writes)
}

/** In the end it has what a list gives, and so has who was told of its changes alone. */
async function isCurrent(informer: Followed): Promise<void> {
  const wanted = await listed()
  await poll(() => informer.seen()).until(
    (seen) => Object.keys(seen).length === Object.keys(wanted).length && isSubset(wanted, seen),
  )
  expect(informer.notified()).toEqual(wanted)
}

function isSubset(wanted: Readonly<Record<string, string>>, seen: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, version]) => seen[key] === version)
}

describe('an informer under a stream of writes', () => {
  test('loses nothing to connections that are reset all the time, nor to an outage, and lists once', async () => {
    const informer = await followed()
    const over = new AbortController()
    const written = writing(over.signal)
    for (let resets = 0; resets < 20; resets++) {
      await sleep(300)
      proxy.reset()
    }
    proxy.towards(0)
    proxy.reset()
    await sleep(3000)
    proxy.towards(kube.port)
    await sleep(500)
    over.abort()
    expect(await written).toBeGreaterThan(100)
    await isCurrent(informer)
    expect(informer.counts.lists).toBe(1)
    expect(informer.counts.watches).toBeGreaterThan(5)
  })

  test('loses nothing to a network that stands still', async () => {
    const clock = systemClock()
    const informer = await followed({ ...clock, timeout: (ms) => clock.timeout(ms / 15) })
    const over = new AbortController()
    const written = writing(over.signal)
    await poll(() => informer.changes.length).until((count) => count > 10)
    proxy.disturb({ kind: 'stall' })
    await sleep(5000)
    proxy.disturb(undefined)
    over.abort()
    await written
    await isCurrent(informer)
    expect(informer.counts.lists).toBe(1)
  })

  test('loses nothing to an API server that is killed and comes back', async () => {
    const informer = await followed()
    for (let number = 0; number < 50; number++) await applied(`note-${number}`, 'before')
    await kube.kill()
    await kube.start()
    for (let number = 25; number < 75; number++) await applied(`note-${number}`, 'after')
    await removed('note-1')
    await isCurrent(informer)
    expect(informer.counts.lists).toBeLessThanOrEqual(2)
  })
})

describe('the API server', () => {
  test('says within a watch that what is asked for has been forgotten', async () => {
    const watching = Array.fromAsync(client.watch(CONFIG_MAPS, { resourceVersion: '1', timeoutSeconds: 10 }, NEVER))
    await expect(watching).rejects.toMatchObject({ status: 410, reason: 'Expired' })
  })

  test('says before it ends a watch up to where it was complete', async () => {
    const { resourceVersion } = await client.list(CONFIG_MAPS, { limit: 1 }, NEVER)
    const own = { ...CONFIG_MAPS, namespace }
    // The API server may send a bookmark of its own besides.
    const types = new Set<string>()
    for await (const { type } of client.watch(own, { resourceVersion, timeoutSeconds: 4 }, NEVER)) {
      types.add(type)
      // What happens elsewhere is not reported to this watch.
      if (type === 'OPENED') await applied('a', 'content', 'default')
    }
    expect([...types]).toEqual(['OPENED', 'BOOKMARK'])
  })

  test('gives metadata alone to who asks for no more, in lists and in watches', async () => {
    await applied('a', 'content')
    const page = await client.list(CONFIG_MAPS, { limit: 0, metadataOnly: true }, NEVER)
    const own = page.items.filter(({ metadata }) => metadata.namespace === namespace)
    expect(own.map(({ metadata, ...rest }) => [metadata.name, 'data' in rest])).toEqual([['a', false]])
    await applied('b', 'content')
    const { resourceVersion } = page
    const options = { resourceVersion, timeoutSeconds: 10, metadataOnly: true }
    for await (const event of client.watch(CONFIG_MAPS, options, NEVER)) {
      if (event.type === 'OPENED') continue
      expect(event).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'b' } } })
      expect('object' in event && 'data' in event.object).toBe(false)
      break
    }
  })

  test('makes no new state of an apply that changes nothing, and refuses fields it does not know', async () => {
    await kube.apply(['crds/plan.yaml'])
    const metadata = { name: namespace }
    const object = { apiVersion: 'platen.dev/v1alpha1', kind: 'Plan', metadata, spec: { renderLimitMonthly: 7 } }
    const apply = (wanted: object) =>
      client.apply({ ...PLANS, ...metadata }, { object: wanted, manager: 'test' }, NEVER)
    await apply(object)
    // The second apply stores the defaults of the schema.
    const first = await apply(object)
    expect((await apply(object)).metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    await expect(apply({ ...object, spec: { renderLimitMontly: 7 } })).rejects.toMatchObject({ status: 500 })
  })

  test('refuses a write over a state that was not seen, and knows what is not there', async () => {
    const lease = { metadata: { name: 'a' }, spec: { holderIdentity: 'one' } }
    const place = { namespace, name: 'a' }
    const seen = await client.createLease(namespace, lease, NEVER)
    await client.replaceLease(place, { ...seen, spec: { holderIdentity: 'two' } }, NEVER)
    await expect(client.replaceLease(place, seen, NEVER)).rejects.toMatchObject({ status: 409, reason: 'Conflict' })
    expect(await client.readConfigMap({ namespace, name: 'a' }, NEVER)).toBeUndefined()
    const unknown = { group: 'platen.dev', version: 'v9', plural: 'notes' }
    await expect(client.list(unknown, { limit: 1 }, NEVER)).rejects.toMatchObject({ status: 404 })
  })
})
