/** Operators on a real Kubernetes API, Redis and S3, and eyes on what they publish. */
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { openRedisDirectory } from '@platen/adapters/redis/directory.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { Condition, ConditionReason, ConditionType } from '@platen/contract/domain/resource.ts'
import type { ApiKey, Template, Tenant } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { isRecord } from '@platen/operator/cluster/object.ts'
import { pathOf } from '@platen/operator/cluster/path.ts'
import { collectionOf, KINDS } from '@platen/operator/reconcile/resource-view.ts'
import { NEVER, SILENT } from '../../fixture/build.ts'
import { poll } from '../../time/poll.ts'
import type { Cluster } from '../../topology/cluster/cluster.ts'
import { grantNamespace, OPERATOR_NAMESPACE, OPERATOR_PERSONA } from '../../topology/cluster/kube.ts'
import { startTestCluster, type TestClusterOptions } from '../../topology/cluster/test-cluster.ts'
import { borrowKube } from '../../topology/run-server.ts'
import type { KubeApi } from '../../topology/server/kube.ts'
import type { ServerProcess } from '../../topology/server/process.ts'
import { redisSettings } from '../../topology/server/redis.ts'

export const TEAM = 'team-acme'
/** Another namespace, which no tenant lists unless a test says so. */
export const OTHERS = 'team-globex'

export interface Rig extends AsyncDisposable {
  readonly kube: KubeApi
  readonly cluster: Cluster
  /** Applies them as `kubectl apply --server-side` does, without its process. Throws with the words of the API server. */
  readonly apply: (...manifests: readonly Manifest[]) => Promise<void>
  /** Runs kubectl. Throws with its words. */
  readonly kubectl: (...args: readonly string[]) => Promise<string>
  readonly get: (kind: string, name: string, namespace?: string) => Promise<Found>
  /**
   * Waits until a resource, such as `tenant/acme`, has conditions of its generation with these reasons. Answers their messages. Throws
   * where one of them is True that has not its own name for a reason, or the other way round. `published` has then what was published
   * before.
   */
  readonly says: (place: string, reasons: Reasons, namespace?: string) => Promise<Readonly<Record<string, string>>>
  /** The operator that holds the lease; the first where nobody does. */
  readonly leader: () => Promise<ServerProcess>
  /** Waits until an operator leads and has looked at all there is. Answers what it has counted so far. */
  readonly rested: () => Promise<Counts>
  /** What processes enforce that follow Redis. */
  readonly directory: () => DirectorySnapshot
  /** The same of one tenant. */
  readonly published: (tenant: string) => Published
  /** Waits until that is as wanted. */
  readonly publishes: (tenant: string, isWanted: (published: Published) => boolean) => Promise<Published>
  /** What a process would know of one tenant that begins now. */
  readonly stored: (tenant: string) => Promise<Published>
  readonly redis: RedisConnection
}

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: object }
}

/** What an operator has counted, by name and labels as they are scraped. */
export interface Counts {
  readonly operator: ServerProcess
  /** The sum of all of a name whose labels have all of these parts, such as `method="PATCH"`. */
  readonly sum: (name: string, ...labels: readonly string[]) => number
}

/** By the type of a condition. */
export type Reasons = Readonly<Partial<Record<ConditionType, ConditionReason>>>

export interface Published {
  readonly tenant: Tenant | undefined
  readonly keys: readonly ApiKey[]
  readonly templates: readonly Template[]
}

/** A resource as the API server has it. */
export interface Found {
  readonly metadata: {
    readonly uid: string
    readonly generation: number
    readonly resourceVersion: string
    readonly finalizers?: readonly string[]
  }
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly (Condition & { readonly lastTransitionTime: string })[]
  }
}

export interface RigOptions {
  readonly operators?: number
  /** An API server of its own, which the rig does not dispose of; one of the run's if absent. */
  readonly kube?: KubeApi
  /** What runs beside the operators; nothing if absent. */
  readonly cluster?: TestClusterOptions
}

export async function startRig({ operators = 1, kube: own, cluster: options = {} }: RigOptions = {}): Promise<Rig> {
  await using stack = new AsyncDisposableStack()
  const kube = own ?? stack.use(await borrowKube())
  for (const name of [TEAM, OTHERS]) await grantNamespace(kube, name)
  const cluster = stack.use(
    await startTestCluster({
      apis: 0,
      engines: [],
      events: 0,
      // Nobody asks for one.
      kafka: { broker: '127.0.0.1:1' },
      ...options,
      kube: { kubeconfig: await kube.kubeconfig(OPERATOR_PERSONA), operators },
    }),
  )
  const clock = systemClock()
  const redis = stack.use(await connectRedis(redisSettings(cluster.redis), NEVER))
  const directory = stack.use(await openRedisDirectory({ redis, clock, log: SILENT }, NEVER))
  const kubectl: Rig['kubectl'] = async (...args) => {
    const { code, stdout, stderr } = await kube.kubectl(args)
    if (code !== 0) throw new Error(stderr)
    return stdout
  }
  const published = (tenant: string) => publishedOf(directory.current(), tenant)
  const owned = stack.move()
  return {
    kube,
    cluster,
    kubectl,
    async apply(...manifests) {
      for (const manifest of manifests) await applyTo(kube, manifest)
    },
    get: (kind, name, namespace) => findIn(kube, `${kind}/${name}`, namespace),
    async says(place, reasons, namespace) {
      const messages = await says(() => findIn(kube, place, namespace), reasons)
      // Conditions wait for API processes, and not for this one. Where Redis is away, what it knows stays.
      await directory.refresh(NEVER).catch(throwUnlessUnavailable)
      return messages
    },
    async leader() {
      const { body } = await kube.request({ path: LEASE_PATH })
      const { holderIdentity = '' } = (body['spec'] ?? {}) as { readonly holderIdentity?: string }
      const [first, ...others] = cluster.processes('operator')
      if (first === undefined) throw new Error('there is no operator')
      const isHolder = (each: ServerProcess) => holderIdentity.includes(`-${each.pid()}_`)
      return others.find(isHolder) ?? first
    },
    async rested() {
      const declared = await Promise.all(KINDS.map((kind) => kube.request({ path: pathOf(collectionOf(kind)) })))
      const all = declared.flatMap(({ body }) => body['items']).length
      const looks = () => Promise.all(cluster.processes('operator').map(countsOf))
      const isRested = (counts: Counts | undefined) => counts !== undefined && hasRested(counts, all)
      const counts = (await poll(looks).until((each) => each.some(isRested))).find(isRested)
      if (counts === undefined) throw new Error('no operator leads')
      return counts
    },
    directory: () => directory.current(),
    published,
    publishes: (tenant, isWanted) => poll(() => published(tenant)).until(isWanted),
    async stored(tenant) {
      await using stored = await openRedisDirectory({ redis, clock, log: SILENT }, NEVER)
      return publishedOf(stored.current(), tenant)
    },
    redis,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function throwUnlessUnavailable(error: unknown): void {
  if (!(error instanceof Unavailable)) throw error
}

const LEASE_PATH = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases/platen-operator`
const GROUP = { group: 'platen.dev', version: 'v1alpha1' }

async function applyTo(kube: KubeApi, body: Manifest): Promise<void> {
  const { apiVersion, kind, metadata } = body
  const [version = '', group = ''] = apiVersion.split('/').toReversed()
  const path = pathOf({ group, version, plural: `${kind.toLowerCase()}s`, ...metadata })
  const query = 'fieldManager=kubectl&force=true&fieldValidation=Strict'
  const answer = await kube.request({ method: 'PATCH', path: `${path}?${query}`, type: APPLY, body })
  if (answer.status >= 300) throw new Error(String(answer.body['message']))
}

const APPLY = 'application/apply-patch+yaml'

/** Throws where there is none. */
async function findIn(kube: KubeApi, place: string, namespace = TEAM): Promise<Found> {
  const [kind, name = ''] = place.split('/')
  const home = kind === 'plan' || kind === 'tenant' ? {} : { namespace }
  const path = pathOf({ ...GROUP, plural: `${kind}s`, ...home, name })
  const { status, body } = await kube.request({ path })
  if (status !== 200 || !isRecord(body['metadata'])) throw new Error(`there is no ${place}: ${status}`)
  // Nothing is asked of it that is not looked at.
  return body as unknown as Found
}

async function says(find: () => Promise<Found>, reasons: Reasons): Promise<Readonly<Record<string, string>>> {
  const wanted = Object.entries(reasons)
  const { metadata, status } = await poll(find).until((found) =>
    wanted.every(([type, reason]) => conditionIn(found, type)?.reason === reason),
  )
  const conditions = status?.conditions ?? []
  const odd = conditions.filter(({ type, reason, status: holds }) => isGood(type, reason) !== (holds === 'True'))
  if (odd.length > 0) throw new Error(`${JSON.stringify(odd)} of ${metadata.uid} contradict themselves`)
  return Object.fromEntries(conditions.map(({ type, message }) => [type, message]))
}

/** Tells whether a reason is that of a condition that holds. Reconciling and Stalled hold for every reason, and are absent otherwise. */
function isGood(type: string, reason: string): boolean {
  if (type === 'Reconciling' || type === 'Stalled') return true
  return reason === (type === 'Ready' ? 'InForce' : type)
}

function conditionIn({ metadata, status }: Found, wanted: string): Condition | undefined {
  return status?.conditions?.find(
    ({ type, observedGeneration }) => type === wanted && observedGeneration === metadata.generation,
  )
}

function publishedOf({ tenants, keys, templates }: DirectorySnapshot, name: string): Published {
  const tenant = [...tenants.values()].find(({ id }) => id === name)
  return {
    tenant,
    keys: [...keys.values()].filter((key) => key.tenant === name),
    templates: [...templates].flatMap(([id, codes]) => (id === name ? [...codes.values()] : [])),
  }
}

/** Nothing where it is not to be asked. */
export async function countsOf(operator: ServerProcess): Promise<Counts | undefined> {
  const [, port] = operator.ports
  const scraped = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(SCRAPE_MS_MAX) })
    .then((answer) => answer.text())
    .catch(() => '')
  if (scraped === '') return undefined
  const lines = scraped.split('\n').map((line) => /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [])
  return {
    operator,
    sum: (name, ...labels) =>
      lines
        .filter(([, is, has = '']) => is === name && labels.every((label) => has.includes(label)))
        .reduce((sum, [, , , value]) => sum + Number(value), 0),
  }
}

const SCRAPE_MS_MAX = 5000

/** Does it lead, has it looked at so many resources, and has nothing to do? */
export function hasRested({ sum }: Counts, all: number): boolean {
  const isIdle = sum('workqueue_depth') === 0 && sum('controller_runtime_active_workers') === 0
  return sum('leader_election_master_status') === 1 && sum('controller_runtime_reconcile_total') >= all && isIdle
}
