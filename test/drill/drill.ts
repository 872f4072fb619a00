/** The losses that are rehearsed. Each restores what docs/disaster.md tells an operator to restore, in that order. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DEPLOYABLES, type Rig, SERVERS } from '../chaos/cluster/rig/rig.ts'
import type { PromiseId } from '../chaos/cluster/trial/judge.ts'
import { grantNamespace, install } from '../topology/cluster/kube.ts'
import type { KubeServer } from '../topology/server/kube.ts'
import type { ServerProcess } from '../topology/server/process.ts'

const run = promisify(execFile)

type Server = (typeof SERVERS)[number]

/** What a drill is rehearsed on. */
export interface Ground {
  readonly rig: Rig
  /** Only in drills that need it. */
  readonly kube: KubeServer | undefined
}

type Act = (ground: Ground) => Promise<void>

export interface Drill {
  readonly name: string
  /** What an operator does, for the table. */
  readonly steps: string
  readonly needsKube?: boolean
  /** Whether the Tenants declare their accounts. */
  readonly hasAccounts?: boolean
  /** Takes the copy that comes back later, while renders go on. */
  readonly backUp?: Act
  /** Ends the server, and removes what it stored. */
  readonly lose: Act
  readonly restore: Act
  /** Promises that renders accepted before the end of `restore` may miss. What is accepted later misses none. */
  readonly mayMiss: readonly PromiseId[]
}

/** The identity of a Kafka node. A new disk gets it again when the node is set up. */
const IDENTITY = 'meta.properties'
const DATA: Readonly<Record<Server, string>> = { kafka: 'log', redis: 'appendonlydir', s3: 'store' }
const ETCD_DATA = 'data'
const REAPPLY = 'end the operators, start etcd, empty, apply the definitions, roles and manifests, start the operators'

export const DRILLS: readonly Drill[] = [
  {
    name: 'redis is lost',
    steps: 'start Redis, empty',
    lose: (ground) => lose(ground, 'redis'),
    restore: (ground) => start(ground, 'redis'),
    mayMiss: [],
  },
  {
    name: 'redis comes back as it was',
    steps: 'start Redis with the copy',
    backUp: (ground) => copy(ground, 'redis'),
    lose: (ground) => lose(ground, 'redis'),
    restore: (ground) => startWithCopy(ground, 'redis'),
    mayMiss: [],
  },
  {
    name: 'kafka is lost',
    steps: 'end all processes, start Kafka, empty, start the processes',
    lose: (ground) => lose(ground, 'kafka'),
    restore: (ground) => withoutProcesses(ground, () => start(ground, 'kafka')),
    mayMiss: ['I1', 'I2', 'I3', 'I7'],
  },
  {
    name: 'kafka comes back as it was',
    steps: 'start Kafka with the copy',
    backUp: (ground) => copy(ground, 'kafka'),
    lose: (ground) => lose(ground, 'kafka'),
    restore: (ground) => startWithCopy(ground, 'kafka'),
    mayMiss: ['I1', 'I2', 'I3', 'I7'],
  },
  {
    name: 's3 is lost',
    steps: 'end all processes, start S3 with empty buckets, start the processes, the publisher first',
    lose: (ground) => lose(ground, 's3'),
    restore: (ground) => withoutProcesses(ground, () => start(ground, 's3')),
    mayMiss: ['I1', 'I2', 'I3', 'I4', 'I5', 'I7'],
  },
  {
    name: 's3 comes back as it was',
    steps: 'end all processes, start S3 with the copy, start the processes, the publisher first',
    backUp: (ground) => copy(ground, 's3'),
    lose: (ground) => lose(ground, 's3'),
    restore: (ground) => withoutProcesses(ground, () => startWithCopy(ground, 's3')),
    mayMiss: ['I1', 'I2', 'I3', 'I4', 'I5', 'I7'],
  },
  {
    name: 'etcd comes back as it was',
    steps: 'end the operators, start etcd with the snapshot, start the operators',
    needsKube: true,
    backUp: (ground) => copyOf(kubeOf(ground).etcd, ETCD_DATA),
    lose: loseEtcd,
    restore: (ground) =>
      withoutOperators(ground, async () => {
        await bringBack(kubeOf(ground).etcd, ETCD_DATA)
        await startEtcd(ground)
      }),
    mayMiss: [],
  },
  {
    name: 'etcd is lost with declared accounts',
    steps: REAPPLY,
    needsKube: true,
    hasAccounts: true,
    lose: loseEtcd,
    restore: reapply,
    mayMiss: [],
  },
  {
    name: 'etcd is lost',
    steps: REAPPLY,
    needsKube: true,
    lose: loseEtcd,
    restore: reapply,
    mayMiss: ['I1', 'I3', 'I4', 'I5', 'I7'],
  },
]

async function reapply(ground: Ground): Promise<void> {
  await withoutOperators(ground, async () => {
    await startEtcd(ground)
    await install(kubeOf(ground))
    await declare(ground)
  })
  // Until then the tenants of before are in force.
  await kubectl(kubeOf(ground), ['wait', '--for=condition=Propagated', 'tenants', '--all', '--timeout=120s'])
}

export async function declare(ground: Ground): Promise<void> {
  const { rig } = ground
  const kube = kubeOf(ground)
  const namespaces = Array.from(rig.manifests.matchAll(/"namespace": ?"([^"]+)"/g), ([, name = '']) => name)
  for (const namespace of new Set(namespaces)) await grantNamespace(kube, namespace)
  // With its first line, kubectl reads YAML and not JSON.
  const stdin = `---\n${rig.manifests}`
  await kubectl(kube, ['apply', '--filename=-'], { stdin })
}

function kubeOf({ kube }: Ground): KubeServer {
  if (kube === undefined) throw new Error('there is no Kubernetes API')
  return kube
}

/** Throws with the output of kubectl. */
async function kubectl(kube: KubeServer, ...[args, options]: Parameters<KubeServer['kubectl']>): Promise<void> {
  const { code, stderr } = await kube.kubectl(args, options)
  if (code !== 0) throw new Error(stderr)
}

async function lose({ rig }: Ground, server: Server): Promise<void> {
  for (const process of rig.processes(server)) {
    await process.kill()
    const folder = join(process.folder, DATA[server])
    for (const name of await readdir(folder)) {
      if (name === IDENTITY) continue
      await rm(join(folder, name), { recursive: true })
      // The folders of S3 are its buckets.
      if (server === 's3') await mkdir(join(folder, name))
    }
  }
}

async function start({ rig }: Ground, server: Server): Promise<void> {
  for (const process of rig.processes(server)) await process.start()
}

async function copy({ rig }: Ground, server: Server): Promise<void> {
  for (const process of rig.processes(server)) await copyOf(process, DATA[server])
}

async function startWithCopy({ rig }: Ground, server: Server): Promise<void> {
  for (const process of rig.processes(server)) {
    await bringBack(process, DATA[server])
    await process.start()
  }
}

/** Copies the data of a server as a snapshot of its disk does. */
async function copyOf(process: ServerProcess, data: string): Promise<void> {
  process.pause()
  // Also copies extended attributes, in which versitygw keeps what it knows of an object.
  await run('cp', ['--archive', join(process.folder, data), join(process.folder, 'copy')])
  process.resume()
}

async function bringBack({ folder }: ServerProcess, data: string): Promise<void> {
  await rm(join(folder, data), { recursive: true, force: true })
  await run('mv', [join(folder, 'copy'), join(folder, data)])
}

async function loseEtcd(ground: Ground): Promise<void> {
  const kube = kubeOf(ground)
  await kube.kill()
  await kube.etcd.kill()
  await rm(join(kube.etcd.folder, ETCD_DATA), { recursive: true })
}

async function startEtcd(ground: Ground): Promise<void> {
  const kube = kubeOf(ground)
  await kube.etcd.start()
  await kube.start()
}

/** Ends all processes, runs `meanwhile`, and starts them again. */
async function withoutProcesses({ rig }: Ground, meanwhile: () => Promise<void>): Promise<void> {
  const publishers = rig.cluster.processes('publish')
  const processes = DEPLOYABLES.flatMap((name) => rig.processes(name))
  await Promise.all([...publishers, ...processes].map((process) => process.stop()))
  await meanwhile()
  for (const publisher of publishers) await publisher.start()
  await Promise.all(processes.map((process) => process.start()))
}

/** Operators that find no resources would take everything out of force. */
async function withoutOperators({ rig }: Ground, meanwhile: () => Promise<void>): Promise<void> {
  const operators = rig.cluster.processes('operator')
  // An operator may have ended already, as it could not renew its lease.
  for (const operator of operators) await operator.kill()
  await meanwhile()
  for (const operator of operators) await operator.start()
}
