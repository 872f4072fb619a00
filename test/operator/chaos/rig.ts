/**
 * Two operators that may be killed, stopped and cut off: each has a way of its own to the Kubernetes API that can be disturbed, and is
 * started again when it has ended, as a kubelet would.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SealKey } from '@platen/lib/seal.ts'
import { Redis } from 'ioredis'
import { type Mutant, mutantOptions } from '../../chaos/cluster/rig/mutant.ts'
import { OPERATOR_PERSONA, startInstalledKube } from '../../topology/cluster/kube.ts'
import { type FaultProxy, openFaultProxy } from '../../topology/proxy/fault-proxy.ts'
import type { KubeServer } from '../../topology/server/kube.ts'
import type { ServerProcess } from '../../topology/server/process.ts'
import { keepRunning } from '../rig/keep-running.ts'
import { openResources, type Reference, type Resources } from '../rig/resources.ts'
import { type Rig, startRig, TEAM } from '../rig/rig.ts'

export interface ChaosRig extends AsyncDisposable {
  readonly rig: Rig
  /** Its own, to stop and kill. */
  readonly kube: KubeServer
  readonly resources: Resources
  readonly operators: readonly OperatorProcess[]
  /** Seals webhook secrets. */
  readonly sealKey: SealKey
  /** The one that holds the lease; the first where nobody does. */
  readonly leader: () => Promise<OperatorProcess>
  /** Has operators run from now on with a guard taken out of them. */
  readonly mutate: (mutant: Mutant) => Promise<void>
  /** Resolves when the API server and both operators have answered; rejects where one is away. */
  readonly ask: () => Promise<void>
  readonly flush: () => Promise<void>
  /** Resolves when an operator leads and publishes what changes. */
  readonly led: (signal: AbortSignal) => Promise<void>
}

export interface OperatorProcess {
  readonly process: ServerProcess
  /** Its way to the Kubernetes API. */
  readonly proxy: FaultProxy
}

export const OPERATORS = 2
/** Lists neither templates nor keys of tenants that do not name it. */
export const STRANGE_TEAM = 'team-other'

export async function startChaosRig(): Promise<ChaosRig> {
  await using stack = new AsyncDisposableStack()
  const proxies = await Promise.all(Array.from({ length: OPERATORS }, () => openFaultProxy('kubernetes')))
  for (const proxy of proxies) stack.use(proxy)
  const kubeconfigs: string[] = []
  const sealKey = randomBytes(32)
  let mutant: Mutant | undefined
  const kube = stack.use(await startInstalledKube())
  for (const proxy of proxies) {
    proxy.towards(kube.port)
    kubeconfigs.push(await kube.kubeconfig(OPERATOR_PERSONA, `https://127.0.0.1:${proxy.port}`))
  }
  const rig = stack.use(
    await startRig({
      operators: OPERATORS,
      kube,
      cluster: {
        settings: { PLATEN_SEAL_KEY: sealKey.toString('base64') },
        settingsOf: (name, at) =>
          name === 'operator' ? { KUBECONFIG: kubeconfigs[at] ?? '', ...mutantOptions(mutant) } : {},
      },
    }),
  )
  await rig.kubectl('create', 'namespace', STRANGE_TEAM)
  const resources = stack.use(await openResources(rig.kube))
  const processes = rig.cluster.processes('operator')
  stack.use(keepRunning(processes))
  const operators = processes.map((process, at) => ({ process, proxy: proxies[at] ?? never() }))
  const canary = await aCanary(rig, resources)
  const owned = stack.move()
  return {
    rig,
    kube,
    resources,
    operators,
    sealKey,
    async leader() {
      const leader = await rig.leader()
      return operators.find(({ process }) => process === leader) ?? never()
    },
    async ask() {
      const asked = processes.map(({ ports: [, probes] }) => fetch(`http://127.0.0.1:${probes}/readyz`))
      await Promise.all([rig.kube.request({ path: '/readyz' }), ...asked])
    },
    async mutate(next) {
      mutant = next
      await Promise.all(processes.map((process) => process.stop()))
    },
    async flush() {
      const redis = new Redis(rig.cluster.redis.url)
      await redis.flushall()
      redis.disconnect()
    },
    led: canary.sings,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function never(): never {
  throw new Error('there is no such operator')
}

const LOOK_MS = 200

interface Canary {
  readonly sings: ChaosRig['led']
}

const CANARY = 'canary'
const TENANT: Reference = { kind: 'Tenant', name: CANARY }
const KEY: Reference = { kind: 'ApiKey', namespace: TEAM, name: CANARY }
const YEAR_MIN = 3000

/** A tenant and a key that are changed, to see whether somebody cares: each kind is followed by itself. */
async function aCanary({ directory }: Rig, resources: Resources): Promise<Canary> {
  await resources.create({ kind: 'Plan', name: CANARY }, {})
  await resources.create(TENANT, { planRef: { name: CANARY }, namespaces: [TEAM] })
  await resources.create(KEY, { tenantRef: { name: CANARY }, sha256: `sha256:${'0'.repeat(64)}` })
  let songs = 0
  return {
    async sings(signal) {
      const suspendedReason = `song ${++songs}`
      const expiresAt = `${YEAR_MIN + songs}-01-01T00:00:00Z`
      const isHeard = () => {
        const { tenants, keys } = directory()
        const hasReason = [...tenants.values()].some((tenant) => tenant.suspendedReason === suspendedReason)
        return hasReason && [...keys.values()].some((key) => key.expiresAt === Date.parse(expiresAt))
      }
      while (!isHeard()) {
        signal.throwIfAborted()
        // The API server may be away, too.
        await resources.patch(TENANT, { suspendReason: suspendedReason }).catch(() => undefined)
        await resources.patch(KEY, { expiresAt }).catch(() => undefined)
        await sleep(LOOK_MS)
      }
    },
  }
}
