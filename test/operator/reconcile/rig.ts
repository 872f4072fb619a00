/** Operators on a real Kubernetes API, Redis and S3, and eyes on what they publish. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { openRedisDirectory } from '@platen/adapters/redis/directory.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { stringify } from 'yaml'
import { type Cluster, type ClusterOptions, startCluster } from '../../topology/cluster/cluster.ts'
import { OPERATOR_NAMESPACE, OPERATOR_PERSONA, startInstalledKube } from '../../topology/cluster/kube.ts'
import type { KubeServer } from '../../topology/server/kube.ts'

const nothing = () => undefined
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Where the resources of tests are. */
export const TEAM = 'team-acme'

export interface Rig extends AsyncDisposable {
  readonly kube: KubeServer
  readonly cluster: Cluster
  /** Applies resources as kubectl does. Throws with its words. */
  readonly apply: (...resources: readonly object[]) => Promise<void>
  /** Runs kubectl. Throws with its words. */
  readonly kubectl: (...args: readonly string[]) => Promise<string>
  readonly get: (kind: string, name: string, namespace?: string) => Promise<Found>
  /** What processes enforce that follow Redis. */
  readonly directory: () => DirectorySnapshot
}

/** A resource as the API server has it. */
export interface Found {
  readonly metadata: { readonly uid: string; readonly generation: number; readonly finalizers?: readonly string[] }
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason: string
      readonly message: string
    }[]
  }
}

export interface RigOptions {
  readonly operators?: number
  readonly kubeFlags?: readonly string[]
  /** What runs beside the operators; nothing if absent. */
  readonly cluster?: Partial<ClusterOptions>
}

export async function startRig({
  operators = 1,
  kubeFlags = [],
  cluster: options = {},
}: RigOptions = {}): Promise<Rig> {
  await using stack = new AsyncDisposableStack()
  const kube = stack.use(await startInstalledKube(kubeFlags))
  await kube.kubectl(['create', 'namespace', TEAM])
  const dataDir = await mkdtemp(join(tmpdir(), 'platen-rig-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const cluster = stack.use(
    await startCluster({
      settings: {},
      manifestsDir: dataDir,
      dataDir,
      apiPorts: [],
      engines: [],
      webhooks: 0,
      // Nobody asks for one.
      broker: '127.0.0.1:1',
      ...options,
      kube: { kubeconfig: await kube.kubeconfig(OPERATOR_PERSONA), namespace: OPERATOR_NAMESPACE, operators },
    }),
  )
  const clock = systemClock()
  const never = new AbortController().signal
  const redis = stack.use(
    await connectRedis(
      {
        place: { kind: 'server', address: { host: cluster.redis.host, port: cluster.redis.port } },
        callMsMax: 5000,
        clock,
      },
      never,
    ),
  )
  const directory = stack.use(await openRedisDirectory({ redis, clock, log: SILENT }, never))
  const kubectl: Rig['kubectl'] = async (...args) => {
    const { code, stdout, stderr } = await kube.kubectl(args)
    if (code !== 0) throw new Error(stderr)
    return stdout
  }
  const owned = stack.move()
  return {
    kube,
    cluster,
    kubectl,
    async apply(...resources) {
      const stdin = resources.map((resource) => stringify(resource)).join('---\n')
      const { code, stderr } = await kube.kubectl(['apply', '-f', '-'], { stdin })
      if (code !== 0) throw new Error(stderr)
    },
    async get(kind, name, namespace = TEAM) {
      // Nothing is asked of it that is not looked at.
      return JSON.parse(await kubectl('get', kind, name, `--namespace=${namespace}`, '--output=json')) as Found
    },
    directory: () => directory.current(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
