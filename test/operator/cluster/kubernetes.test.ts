/** The informer and its client on a real API server, with a network between them that fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { loadAccess } from '@platen/operator/cluster/access.ts'
import { type ClusterClient, openClusterClient } from '@platen/operator/cluster/client.ts'
import { pathOf } from '@platen/operator/cluster/path.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { NEVER } from '../../fixture/build.ts'
import { poll } from '../../time/poll.ts'
import { type FaultProxy, openFaultProxy } from '../../topology/proxy/fault-proxy.ts'
import { ADMIN, type KubeServer, startKube } from '../../topology/server/kube.ts'
import { type Followed, follow } from './followed.ts'

const OBJECTS = 200
const WRITERS = 4
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
let place: { group: string; version: string; plural: string; namespace: string }
let path: string
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  proxy.disturb(undefined)
  proxy.towards(kube.port)
  const meter = { requested: () => undefined }
  client = stack.use(
    openClusterClient({ access: await loadAccess(await kube.kubeconfig(ADMIN)), clock: systemClock(), meter }),
  )
  const namespace = `team-${++namespaces}`
  await client.create('/api/v1/namespaces', { metadata: { name: namespace } }, NEVER)
  place = { group: '', version: 'v1', plural: 'configmaps', namespace }
  path = pathOf(place)
  return () => stack.disposeAsync()
})

const at = (name: string) => pathOf({ ...place, name })

function applied(name: string, text: string) {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } }
  return client.apply(at(name), { object, manager: 'test' }, NEVER)
}

function removed(name: string): Promise<unknown> {
  return kube.request({ method: 'DELETE', path: at(name) })
}

/** Follows through the proxy. */
async function followed(idleMs?: number): Promise<Followed> {
  const access = await loadAccess(await kube.kubeconfig(ADMIN, `https://127.0.0.1:${proxy.port}`))
  const clock = systemClock()
  const informer = stack.use(follow({ access, path, clock, ...(idleMs !== undefined && { idleMs }) }))
  await informer.synced
  return informer
}

async function listed(): Promise<Readonly<Record<string, string>>> {
  const { items } = await client.list(path, { limit: 0 }, NEVER)
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
    const informer = await followed(2000)
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
    const options = { resourceVersion: '1', timeoutSeconds: 10, idleMs: 10_000 }
    const watching = Array.fromAsync(client.watch(path, options, NEVER))
    await expect(watching).rejects.toMatchObject({ status: 410, reason: 'Expired' })
  })

  test('gives metadata alone to who asks for no more, in lists and in watches', async () => {
    await applied('a', 'content')
    const page = await client.list(path, { limit: 10, metadataOnly: true }, NEVER)
    expect(page.items.map(({ metadata, ...rest }) => [metadata.name, 'data' in rest])).toEqual([['a', false]])
    await applied('b', 'content')
    const { resourceVersion } = page
    for await (const event of client.watch(
      path,
      { resourceVersion, timeoutSeconds: 10, idleMs: 10_000, metadataOnly: true },
      NEVER,
    )) {
      if (event.type === 'OPENED') continue
      expect(event).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'b' } } })
      expect('object' in event && 'data' in event.object).toBe(false)
      break
    }
  })

  test('makes no new state of an apply that changes nothing, and refuses fields it does not know', async () => {
    const first = await applied('a', 'content')
    expect((await applied('a', 'content')).metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, daat: {} }
    await expect(client.apply(at('a'), { object, manager: 'test' }, NEVER)).rejects.toMatchObject({ status: 500 })
  })

  test('refuses a write over a state that was not seen, and knows what is not there', async () => {
    const seen = await applied('a', 'one')
    await applied('a', 'two')
    await expect(client.replace(at('a'), seen, NEVER)).rejects.toMatchObject({ status: 409, reason: 'Conflict' })
    await removed('a')
    expect(await client.get(at('a'), NEVER)).toBeUndefined()
    await expect(client.get('/apis/platen.dev/v9/notes/a', NEVER)).rejects.toMatchObject({ status: 404 })
  })
})
