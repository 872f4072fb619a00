/**
 * A cluster whose keys, credentials and certificates are in files, as the kubelet mounts them, with callers that never pause. Its processes
 * can be replaced meanwhile, as in a rollout.
 */
import { mkdtempSync, symlinkSync } from 'node:fs'
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { poll } from '../../time/poll.ts'
import type { Deployable } from '../../topology/cluster/cluster.ts'
import type { TestCluster, TestClusterOptions } from '../../topology/cluster/test-cluster.ts'
import { aReceiver, LOOPBACK_ALLOWED, type Receiver } from '../../topology/receiver.ts'
import { ended, render, request, type Service, submit } from '../../topology/service.ts'
import { aCluster, aTenant, LETTER } from '../harness.ts'

/** Contents by the name of the setting, without `_FILE`. */
export type Secret = Readonly<Record<string, string>>

/** Processes that read all these settings. */
export const FOLLOWING = ['api', 'renderer', 'events'] as const

const LIVE = `service_live_${'L'.repeat(43)}`
const LIMITS = { syncRateLimitPerMinute: 100_000, asyncRateLimitPerMinute: 100_000 }
/** Renders between one step and the next: the load is there, and goes on. */
const SOME = 4
/** Between an answer and the next request: processes that start need the cores, too. */
const PAUSE_MS = 100

export interface RotationScene extends AsyncDisposable {
  readonly cluster: TestCluster
  readonly receiver: Receiver
  readonly load: Load
  /** What the files contain now. */
  readonly secret: () => Secret
  /** Changes the files, and waits until every process that reads these settings says so. */
  readonly change: (values: Secret, readers?: readonly Deployable[]) => Promise<void>
  /** Replaces a process of each deployable, as a rollout does: the one whose turn it is. */
  readonly rollOut: (...names: readonly Deployable[]) => Promise<void>
}

export interface Load {
  readonly ids: readonly string[]
  readonly statuses: readonly number[]
  /** Resolves when some more renders have succeeded, and every process of the API knows renders of each call. Rejects if one has not. */
  more(): Promise<void>
  end(): Promise<void>
}

type Servers = Pick<TestClusterOptions, 'kafka' | 'redis' | 's3'>

export async function aRotationScene(servers: Servers, settings: Secret, first: Secret): Promise<RotationScene> {
  await using stack = new AsyncDisposableStack()
  const mount = stack.use(aMount(Object.keys(first)))
  await mount.write(first)
  const receiver = stack.use(await aReceiver())
  const cluster = stack.use(
    await aCluster({
      ...servers,
      documents: aTenant('acme', LIVE, LIMITS),
      apis: 2,
      renderers: 2,
      events: 2,
      settings: { ...LOOPBACK_ALLOWED, ...mount.settings, ...settings },
    }),
  )
  const balancer = balanced(cluster)
  const load = beginLoad(cluster, balancer.service, receiver)
  let secret = first
  const owned = stack.move()
  return {
    cluster,
    receiver,
    load,
    secret: () => secret,
    async change(values, readers = FOLLOWING) {
      const changedAt = Date.now() / 1000
      secret = { ...secret, ...values }
      await mount.write(secret)
      for (const port of readers.flatMap((name) => portsOf(cluster, name)))
        await poll(() => metricOf(port, 'platen_settings_timestamp_seconds')).until((since) => since >= changedAt)
    },
    async rollOut(...names) {
      for (const name of names) await replaceNext(name, { cluster, balancer, load })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export function portsOf(cluster: TestCluster, name: Deployable): readonly number[] {
  return cluster.processes(name).map(({ ports: [, probes = 0] }) => probes)
}

/** NaN while the process is away. */
export async function metricOf(port: number, name: string): Promise<number> {
  const text = await fetch(`http://127.0.0.1:${port}/metrics`)
    .then((response) => response.text())
    .catch(() => '')
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** Files as the kubelet mounts a Secret: links into a folder that is replaced as a whole. */
function aMount(names: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'platen-secret-'))
  for (const name of names) symlinkSync(join('..data', name), join(folder, name))
  let versions = 0
  return {
    settings: Object.fromEntries(
      names.flatMap((name) => [
        [name, ''],
        [`${name}_FILE`, join(folder, name)],
      ]),
    ),
    async write(secret: Secret) {
      const version = join(folder, `..${++versions}`)
      await mkdir(version)
      for (const [name, value] of Object.entries(secret)) await writeFile(join(version, name), `${value}\n`)
      await symlink(version, join(folder, '..next'))
      await rename(join(folder, '..next'), join(folder, '..data'))
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

type Balancer = ReturnType<typeof balanced>

/** The API as a Service balances it: each request goes to the other process, and none to one that ends or starts. */
function balanced(cluster: TestCluster) {
  let [asked, resting]: [number, number | undefined] = [0, undefined]
  const next = () => (resting === undefined ? asked++ % 2 : 1 - resting)
  const service: Service = { ...cluster.at(0), url: () => cluster.urls[next()] ?? '' }
  return {
    service,
    rest(at: number | undefined) {
      resting = at
    },
    /** How many processes of each deployable were replaced. */
    replaced: new Map<Deployable, number>(),
  }
}

interface Rollout extends Pick<RotationScene, 'cluster' | 'load'> {
  readonly balancer: Balancer
}

async function replaceNext(name: Deployable, { cluster, balancer, load }: Rollout): Promise<void> {
  const processes = cluster.processes(name)
  const replaced = balancer.replaced.get(name) ?? 0
  balancer.replaced.set(name, replaced + 1)
  const at = replaced % processes.length
  // A Service sends nothing more to a pod that ends. After the next answers, no request is on its way to it.
  if (name === 'api') balancer.rest(at)
  if (name === 'api') await load.more()
  expect(await processes[at]?.stop()).toBe(0)
  await processes[at]?.start()
  balancer.rest(undefined)
}

/** Callers of async and of sync renders. */
function beginLoad(cluster: TestCluster, service: Service, receiver: Receiver): Load {
  const ids: string[] = []
  const statuses: number[] = []
  /** Some ids of each time. All of them at once would be a load of their own. */
  const asked: string[] = []
  const over = new AbortController()
  const callAsync = async () => {
    while (!over.signal.aborted) {
      const id = await submit(service, LIVE, { ...LETTER, webhook_url: receiver.url })
      ids.push(id)
      expect((await ended(service, LIVE, id)).status).toBe('succeeded')
      await sleep(PAUSE_MS)
    }
  }
  const callSync = async () => {
    while (!over.signal.aborted) {
      const { status, body } = await render(service, LIVE, LETTER)
      expect(status, Buffer.from(body).toString()).toBe(200)
      statuses.push(status)
      await sleep(PAUSE_MS)
    }
  }
  const callers = Promise.all([callAsync(), callSync()])
  // Awaited by `more` and `end`.
  callers.catch(() => undefined)
  return {
    ids,
    statuses,
    async more() {
      const [wantedIds, wanted] = [ids.length + SOME, statuses.length + SOME]
      const enough = poll(() => ids.length >= wantedIds && statuses.length >= wanted).until(Boolean)
      await Promise.race([enough, callers])
      asked.push(...ids.slice(-2))
      for (const api of [0, 1]) expect(await unknownTo(cluster.at(api), asked)).toEqual([])
    },
    async end() {
      over.abort()
      await callers
    },
  }
}

async function unknownTo(api: Service, ids: readonly string[]): Promise<readonly string[]> {
  const answers = await Promise.all(
    ids.map(async (id) => {
      const { status } = await request(api, { key: LIVE, path: `/api/v1/render/${id}` })
      return [id, status] as const
    }),
  )
  return answers.flatMap(([id, status]) => (status === 404 ? [id] : []))
}
