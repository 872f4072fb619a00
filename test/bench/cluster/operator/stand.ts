/** An operator on a real Kubernetes API, Redis and S3, one process that follows it, and what can be read of them from outside. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { type ClusterClient, openClusterClient } from '@platen/operator/cluster/client.ts'
import { loadKubeConfig } from '@platen/operator/cluster/kubeconfig.ts'
import { NEVER } from '../../../fixture/build.ts'
import { countsOf, hasRested, type Rig, startRig } from '../../../operator/rig/rig.ts'
import { startInstalledKube } from '../../../topology/cluster/kube.ts'
import { ADMIN } from '../../../topology/server/kube.ts'
import type { ServerProcess } from '../../../topology/server/process.ts'
import { redisSettings } from '../../../topology/server/redis.ts'
import type { Placed } from './estate.ts'
import type { Seen } from './reader.ts'

export interface Stand extends AsyncDisposable {
  readonly rig: Rig
  readonly client: ClusterClient
  readonly redis: RedisConnection
  readonly operator: OperatorProcess
  /** What a process has come to enforce that follows Redis, revision by revision. */
  readonly seen: Seen[]
  /**
   * Resolves when that process has come to what is wanted, or had since it had seen so many revisions: whoever waits for one of many
   * changes and looked through all there were would take longer for it than the change.
   */
  readonly untilSeen: (isWanted: (seen: Seen) => boolean, since?: number) => Promise<Seen>
}

export interface OperatorProcess {
  readonly start: () => Promise<void>
  readonly stop: () => Promise<number | null>
  readonly pid: () => number
  /** The sum of its counters of a name whose labels contain all of these. */
  readonly count: (name: string, ...labels: readonly string[]) => Promise<number>
  /** Resolves when it has had nothing to do for a moment, with the time at which that began. */
  readonly untilIdle: () => Promise<number>
  readonly untilLeading: () => Promise<number>
  /** Of what is resident, in MiB. */
  readonly memory: () => { readonly now: number; readonly highest: number }
}

const CALL_MS_MAX = 60_000
/** What the API server is asked at once by whoever fills it, or is measured. */
const AT_ONCE = 32

/** Epoch milliseconds, the same in all processes. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}

/** Its operator is stopped: nothing is declared yet. */
export async function startStand(): Promise<Stand> {
  await using stack = new AsyncDisposableStack()
  const kube = stack.use(await startInstalledKube())
  const rig = stack.use(await startRig({ kube, cluster: { settings: { PLATEN_LOG_LEVEL: 'warn' } } }))
  const config = loadKubeConfig(await rig.kube.kubeconfig(ADMIN))
  const clock = systemClock()
  const client = stack.use(openClusterClient({ config, clock, meter: { requested: () => undefined } }))
  const redis = stack.use(await connectRedis(redisSettings(rig.cluster.redis, CALL_MS_MAX), NEVER))
  const [process] = rig.cluster.processes('operator')
  if (process === undefined) throw new Error('there is an operator')
  await process.stop()
  const reader = await startReader(rig.cluster.redis.port)
  stack.defer(() => reader.stop())
  const owned = stack.move()
  return {
    ...reader,
    rig,
    client,
    redis,
    operator: operatorOf(process),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function startReader(port: number) {
  const child = fork(new URL('reader.ts', import.meta.url), [`${port}`], {
    env: { ...process.env, NODE_ENV: 'production' },
    serialization: 'advanced',
  })
  await once(child, 'message')
  const seen: Seen[] = []
  let more = Promise.withResolvers<void>()
  child.on('message', (message: Seen) => {
    seen.push(message)
    more.resolve()
    more = Promise.withResolvers()
  })
  return {
    seen,
    async untilSeen(isWanted: (seen: Seen) => boolean, since = 0) {
      for (let next = since; ; next++) {
        while (seen[next] === undefined) await more.promise
        const one = seen[next]
        if (one !== undefined && isWanted(one)) return one
      }
    },
    async stop() {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

const LOOK_EVERY_MS = 100
/** For so long it has to have had nothing to do. */
const IDLE_MS = 2000

function operatorOf(process: ServerProcess): OperatorProcess {
  const sum = async (name: string, ...labels: readonly string[]) => (await countsOf(process))?.sum(name, ...labels) ?? 0
  const isIdle = async () => {
    const counts = await countsOf(process)
    return counts !== undefined && hasRested(counts, 1)
  }
  return {
    start: () => process.start(),
    stop: () => process.stop(),
    pid: () => process.pid(),
    count: sum,
    async untilLeading() {
      while ((await sum('leader_election_master_status')) !== 1) await sleep(LOOK_EVERY_MS)
      return now()
    },
    async untilIdle() {
      for (let since = Number.NaN; ; await sleep(LOOK_EVERY_MS)) {
        const at = now()
        if (!(await isIdle())) since = Number.NaN
        else if (Number.isNaN(since)) since = at
        else if (at - since > IDLE_MS) return since
      }
    },
    memory() {
      const status = readFileSync(`/proc/${process.pid()}/status`, 'utf8')
      const mibOf = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
      return { now: mibOf('VmRSS'), highest: mibOf('VmHWM') }
    },
  }
}

/** Does all of them, many at once. Answers how many a second. */
export async function rateOf<T>(all: readonly T[], act: (one: T) => Promise<unknown>): Promise<number> {
  const begunAt = now()
  const rest = all.values()
  const work = async () => {
    for (const one of rest) await act(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return (all.length * 1000) / (now() - begunAt)
}

export function createAll({ rig }: Stand, all: readonly Placed[]): Promise<number> {
  return rateOf(all, async ({ collection, object }) => {
    const { status } = await rig.kube.request({ method: 'POST', path: collection, body: object })
    if (status !== 201) throw new Error(`${collection}: ${status}`)
  })
}
