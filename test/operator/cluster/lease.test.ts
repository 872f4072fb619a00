/** Candidates for a lease on a real API server. Where one has to run out that takes its time, so the tests of this file run together. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { type ClusterClient, openClusterClient } from '@platen/operator/cluster/client.ts'
import { loadKubeConfig } from '@platen/operator/cluster/kubeconfig.ts'
import { acquireLease, type HeldLease, type LeaseOptions } from '@platen/operator/cluster/lease.ts'
import { LEASE_MS } from '@platen/operator/cluster/limit.ts'
import { isRecord, type KubeObject } from '@platen/operator/cluster/object.ts'
import { pathOf } from '@platen/operator/cluster/path.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NEVER, SILENT } from '../../fixture/build.ts'
import { poll } from '../../time/poll.ts'
import { openFaultProxy } from '../../topology/proxy/fault-proxy.ts'
import { borrowKube } from '../../topology/run-server.ts'
import { ADMIN, type KubeApi } from '../../topology/server/kube.ts'

const PLACE = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace: 'team-leases' }
const HOLDER = fileURLToPath(new URL('lease-holder.ts', import.meta.url))

let kube: KubeApi & AsyncDisposable
let client: ClusterClient
beforeAll(async () => {
  kube = await borrowKube()
  client = await clientAt(kube.url)
  await kube.request({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: PLACE.namespace } } })
})
afterAll(async () => {
  client?.[Symbol.dispose]()
  await kube?.[Symbol.asyncDispose]()
})

async function clientAt(url: string): Promise<ClusterClient> {
  const config = loadKubeConfig(await kube.kubeconfig(ADMIN, url))
  return openClusterClient({ config, clock: systemClock(), meter: { requested: () => undefined } })
}

/** Under the name of the lease, with all that it said of leading. */
function candidate(name: string, identity: string, more: Partial<LeaseOptions> = {}) {
  const led: boolean[] = []
  const options: LeaseOptions = {
    client,
    namespace: PLACE.namespace,
    name,
    identity,
    epochMin: async () => 0,
    clock: systemClock(),
    ids: systemIds(),
    log: SILENT,
    meter: { leading: (isHeld) => void led.push(isHeld) },
    ...more,
  }
  return { led, acquire: (signal = NEVER): Promise<HeldLease> => acquireLease(options, signal) }
}

async function lease(name: string): Promise<KubeObject> {
  const found = await client.readLease({ ...PLACE, name }, NEVER)
  if (found === undefined) throw new Error(`there is no lease ${name}`)
  return found
}

async function specOf(name: string): Promise<Readonly<Record<string, unknown>>> {
  const { spec } = await lease(name)
  return isRecord(spec) ? spec : {}
}

/** As somebody would by hand. */
async function edited(name: string, patch: object): Promise<void> {
  const how = { method: 'PATCH', type: 'application/merge-patch+json', body: patch }
  const { status } = await kube.request({ ...how, path: pathOf({ ...PLACE, name }) })
  expect(status).toBe(200)
}

async function removeLease(name: string): Promise<void> {
  const { status } = await kube.request({ method: 'DELETE', path: pathOf({ ...PLACE, name }) })
  expect(status).toBe(200)
}

function ended({ lost }: HeldLease): Promise<unknown> {
  return lost.aborted ? Promise.resolve() : once(lost, 'abort')
}

describe.concurrent('a lease', () => {
  test('that nobody has is taken at once, and renewed as long as it is held', async () => {
    const { acquire, led } = candidate('first', 'one')
    await using held = await acquire()
    expect({ epoch: held.epoch, isHeld: held.isHeld(), led }).toEqual({ epoch: 1, isHeld: true, led: [false, true] })
    const spec = await specOf('first')
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(spec).toEqual({
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 1,
    })
    await poll(() => specOf('first')).until(({ renewTime }) => renewTime !== spec['renewTime'])
    expect((await specOf('first'))['acquireTime']).toBe(spec['acquireTime'])
  })

  test('that is given back is taken at once, with a higher epoch', async () => {
    const first = await candidate('given', 'one').acquire()
    let isTaken = false
    const second = candidate('given', 'two')
    const waiting = second.acquire().then((held) => {
      isTaken = true
      return held
    })
    await sleep(LEASE_MS / 3)
    expect(isTaken).toBe(false)
    const before = performance.now()
    await first[Symbol.asyncDispose]()
    expect({ isHeld: first.isHeld(), isLost: first.lost.aborted }).toEqual({ isHeld: false, isLost: true })
    await using held = await waiting
    expect(performance.now() - before).toBeLessThan(LEASE_MS)
    expect({ epoch: held.epoch, holder: (await specOf('given'))['holderIdentity'] }).toEqual({
      epoch: 2,
      holder: 'two',
    })
  })

  test('of a holder that is cut off is taken by another, and only when the first knows that it is lost', async () => {
    await using proxy = await openFaultProxy('kubernetes')
    proxy.towards(kube.port)
    using cut = await clientAt(`https://127.0.0.1:${proxy.port}`)
    const { acquire, led } = candidate('cut', 'one', { client: cut })
    await using first = await acquire()
    const taking = candidate('cut', 'two').acquire()
    proxy.disturb({ kind: 'stall' })
    const sooner = await Promise.race([ended(first).then(() => 'lost'), taking.then(() => 'taken')])
    expect({ sooner, isHeld: first.isHeld(), led }).toEqual({
      sooner: 'lost',
      isHeld: false,
      led: [false, true, false],
    })
    await using second = await taking
    expect(second.epoch).toBe(2)
    // What stood still arrives now.
    proxy.disturb(undefined)
    await sleep(3000)
    expect(await specOf('cut')).toMatchObject({ holderIdentity: 'two', leaseTransitions: 2 })
    expect({ first: first.isHeld(), second: second.isHeld() }).toEqual({ first: false, second: true })
  })

  test('outlives an API server that is away for less than it lasts', async () => {
    await using proxy = await openFaultProxy('kubernetes')
    proxy.towards(kube.port)
    using cut = await clientAt(`https://127.0.0.1:${proxy.port}`)
    await using held = await candidate('away', 'one', { client: cut }).acquire()
    proxy.towards(0)
    proxy.reset()
    await sleep(5000)
    proxy.towards(kube.port)
    const { renewTime } = await specOf('away')
    await poll(() => specOf('away')).until((spec) => spec['renewTime'] !== renewTime)
    expect({ isHeld: held.isHeld(), epoch: (await specOf('away'))['leaseTransitions'] }).toEqual({
      isHeld: true,
      epoch: 1,
    })
  })

  test('of a process that is killed is taken when it has run out', async () => {
    await using first = await holderProcess('killed')
    expect(await first.next()).toBe('taken 1')
    first.child.kill('SIGKILL')
    await using second = await candidate('killed', 'two').acquire()
    expect(second.epoch).toBe(2)
  })

  test('of a process that stood still is lost, as it knows before it does anything', async () => {
    await using first = await holderProcess('stopped')
    expect(await first.next()).toBe('taken 1')
    expect(await first.next()).toBe('held')
    first.child.kill('SIGSTOP')
    await using second = await candidate('stopped', 'two').acquire()
    const before = first.said.length
    first.child.kill('SIGCONT')
    await poll(() => first.said.length).until((lines) => lines > before + 5)
    expect(new Set(first.said.slice(before))).toEqual(new Set(['lost']))
    expect({ epoch: second.epoch, isHeld: second.isHeld() }).toEqual({ epoch: 2, isHeld: true })
  })

  test('that is deleted is made again by its holder, with the epoch it had', async () => {
    await using held = await candidate('deleted', 'one', { epochMin: async () => 7 }).acquire()
    await removeLease('deleted')
    await poll(() => client.readLease({ ...PLACE, name: 'deleted' }, NEVER)).until((found) => found !== undefined)
    expect(await specOf('deleted')).toMatchObject({ holderIdentity: 'one', leaseTransitions: 7 })
    expect(held.isHeld()).toBe(true)
  })

  test('that is deleted and created again never goes back to an epoch that was there', async () => {
    const first = await candidate('anew', 'one', { epochMin: async () => 41 }).acquire()
    await first[Symbol.asyncDispose]()
    expect(first.epoch).toBe(41)
    const second = await candidate('anew', 'two', { epochMin: async () => 42 }).acquire()
    await second[Symbol.asyncDispose]()
    await removeLease('anew')
    await using third = await candidate('anew', 'three', { epochMin: async () => 43 }).acquire()
    expect([second.epoch, third.epoch]).toEqual([42, 43])
  })

  test('is not taken before it is known what was published', async () => {
    let asked = 0
    const epochMin = async () => {
      asked += 1
      if (asked < 3) throw new Error('the store is away')
      return 5
    }
    await using held = await candidate('floor', 'one', { epochMin }).acquire()
    expect({ asked, epoch: held.epoch }).toEqual({ asked: 3, epoch: 5 })
  })

  test('keeps what others write beside it, and is lost to who writes into it', async () => {
    await using held = await candidate('edited', 'one').acquire()
    await edited('edited', { metadata: { labels: { team: 'platform' } } })
    const { renewTime } = await specOf('edited')
    await poll(() => specOf('edited')).until((spec) => spec['renewTime'] !== renewTime)
    expect({ isHeld: held.isHeld(), labels: (await lease('edited')).metadata.labels }).toEqual({
      isHeld: true,
      labels: { team: 'platform' },
    })
    await edited('edited', { spec: { leaseTransitions: 9 } })
    await ended(held)
    await using next = await candidate('edited', 'two').acquire()
    expect(next.epoch).toBe(10)
  })

  test('is taken by one of many at a time', async () => {
    const epochs: number[] = []
    let holders = 0
    const race = async (number: number) => {
      const held = await candidate('raced', `candidate-${number}`).acquire()
      holders += 1
      expect(holders).toBe(1)
      epochs.push(held.epoch)
      await sleep(100)
      holders -= 1
      await held[Symbol.asyncDispose]()
    }
    await Promise.all(Array.from({ length: 5 }, (_, number) => race(number)))
    expect(epochs).toEqual([1, 2, 3, 4, 5])
  })

  test('is waited for until nobody wants it any more', async () => {
    await using _held = await candidate('wanted', 'one').acquire()
    const over = new AbortController()
    const waiting = candidate('wanted', 'two').acquire(over.signal)
    over.abort(new Error('no longer'))
    await expect(waiting).rejects.toThrow('no longer')
  })
})

interface HolderProcess extends AsyncDisposable {
  readonly child: ChildProcessByStdio<null, Readable, null>
  /** The lines it has said so far. */
  readonly said: readonly string[]
  /** The next line. */
  next(): Promise<string>
}

async function holderProcess(name: string): Promise<HolderProcess> {
  const kubeconfig = await kube.kubeconfig(ADMIN)
  const child = spawn(process.execPath, [HOLDER, kubeconfig, PLACE.namespace, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said: string[] = []
  let read = 0
  createInterface(child.stdout).on('line', (line) => said.push(line))
  return {
    child,
    said,
    async next() {
      const line = await poll(() => said[read]).until((line) => line !== undefined)
      read += 1
      return line ?? ''
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
