/**
 * The cluster on which promises are tried. Each deployable has a fault proxy on its connections to Kafka, Redis and S3, and the webhook
 * receiver refuses some deliveries once. By default each deployable has one process, so the process killed at a step is the one that took
 * the step.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { key, manifestOf, plan, template, tenant, tsx, UNLIMITED } from '../../../fixture/manifests.ts'
import { IS_LONG } from '../../../run/form.ts'
import { type Cluster, SERVICE_BUCKET } from '../../../topology/cluster/cluster.ts'
import { OPERATOR_PERSONA } from '../../../topology/cluster/kube.ts'
import { startTestCluster } from '../../../topology/cluster/test-cluster.ts'
import { type FaultProxy, openFaultProxy } from '../../../topology/proxy/fault-proxy.ts'
import type { Protocol } from '../../../topology/proxy/wire.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../../../topology/receiver.ts'
import { startKafka } from '../../../topology/server/kafka.ts'
import type { KubeServer } from '../../../topology/server/kube.ts'
import type { ServerProcess } from '../../../topology/server/process.ts'
import { startRedis } from '../../../topology/server/redis.ts'
import { startS3 } from '../../../topology/server/s3.ts'
import { openClocks } from './clock.ts'
import { type Mutant, mutantOptions } from './mutant.ts'

export const DEPLOYABLES = ['api', 'renderer', 'events'] as const
export const SERVERS = ['kafka', 'redis', 's3'] as const
export const VICTIMS = [...DEPLOYABLES, ...SERVERS] as const
export type Victim = (typeof VICTIMS)[number]
export type Deployable = (typeof DEPLOYABLES)[number]

export function isServer(victim: Victim): victim is (typeof SERVERS)[number] {
  return SERVERS.some((name) => name === victim)
}

export interface Post {
  readonly deliveryId: string
  readonly body: string
  readonly status: number
}

export interface RigOptions {
  /** Processes of each deployable. Default: 1. */
  readonly copies?: number
  /** Largest number of trials. Default: 24. */
  readonly trials?: number
  /** Additional settings of all processes. */
  readonly settings?: Readonly<Record<string, string>>
  /** Whether the tenants declare their accounts. Default: they do not. */
  readonly hasAccounts?: boolean
  /** A Kubernetes API with an operator, in place of `platen publish`. The caller owns it, and applies the manifests. */
  readonly kube?: KubeServer
}

export interface Rig extends AsyncDisposable {
  readonly cluster: Cluster
  /** Unused tenants. Each trial takes one. */
  readonly tenants: IterableIterator<TrialTenant>
  readonly hookUrl: string
  readonly posts: readonly Post[]
  /** Returns the proxy between one deployable and one server. All processes of the deployable share it. */
  proxy(name: Deployable, server: Protocol): FaultProxy
  processes(victim: Victim): readonly ServerProcess[]
  /** Shifts the clock of all processes of a deployable by `seconds`. Undefined without libfaketime. */
  readonly shiftClock: ((name: Deployable, seconds: number) => Promise<void>) | undefined
  /** Restarts deployables without a guard. Deployables of the previous call restart with all guards. */
  mutate(mutant: Mutant | undefined, deployables: readonly Deployable[]): Promise<void>
  /** Stops all processes of each deployable but the first. */
  keepFirst(): Promise<void>
  /** The plan, and all tenants with their keys and templates, as YAML. */
  readonly manifests: string
}

export interface TrialTenant {
  readonly name: string
  readonly key: string
}

/** A letter that renders long enough to be killed and short enough for many renders. It fails when its text is not a string. */
export const LETTER = `
import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => {
  let sum = 0
  for (let i = 0; i < (data.rounds ?? 0); i++) sum += i
  return <Document><Page><Text>{data.text.trim()} {sum}</Text></Page></Document>
}`

export async function openRig({
  copies = 1,
  trials = 24,
  settings = {},
  hasAccounts = false,
  kube,
}: RigOptions = {}): Promise<Rig> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'platen-clocks-'))
  stack.defer(() => rm(folder, { recursive: true }))
  const tenants = Array.from({ length: trials }, (_, at) => tenantOf(at))
  const manifests = manifestOf(documentsOf(tenants, hasAccounts))
  const proxies = await openProxies(stack)
  const [kafka, redis, s3] = await Promise.all([
    startKafka({ proxies: DEPLOYABLES.map((name) => proxies[name].kafka.port) }).then((each) => stack.use(each)),
    startRedis().then((each) => stack.use(each)),
    startS3([SERVICE_BUCKET]).then((each) => stack.use(each)),
  ])
  for (const [at, name] of DEPLOYABLES.entries()) {
    proxies[name].kafka.towards(kafka.proxied[at] ?? 0)
    proxies[name].redis.towards(redis.port)
    proxies[name].s3.towards(s3.port)
  }
  const receiver = stack.use(await aReceiver())
  const posts: Post[] = []
  receiver.answer((request, response) => {
    const deliveryId = String(request.headers['webhook-id'])
    const isFirst = posts.every((post) => post.deliveryId !== deliveryId)
    const status = isFirst && isRefusedOnce(deliveryId) ? 500 : 204
    posts.push({ deliveryId, body: receiver.received.at(-1)?.body ?? '', status })
    response.writeHead(status).end()
  })
  const clocks = await openClocks(folder)
  let mutant: Mutant | undefined
  let mutated: readonly Deployable[] = []
  const settingsOf = (name: Deployable) => ({
    ...clocks.settingsOf(name),
    PLATEN_REDIS_URL: `redis://127.0.0.1:${proxies[name].redis.port}`,
    PLATEN_KAFKA_BROKERS: `127.0.0.1:${proxies[name].kafka.port}`,
    PLATEN_S3_ENDPOINT: `http://127.0.0.1:${proxies[name].s3.port}`,
    ...(mutated.includes(name) && mutantOptions(mutant)),
  })
  const cluster = stack.use(
    await startTestCluster({
      settings: { ...LOOPBACK_ALLOWED, PLATEN_RENDER_SLOTS: IS_LONG ? '2' : '1', ...settings },
      manifests,
      ...(kube && {
        kube: {
          kubeconfig: await kube.kubeconfig(OPERATOR_PERSONA),
          operators: 1,
        },
      }),
      apis: copies,
      renderers: copies,
      events: copies,
      kafka: { broker: kafka.broker },
      redis,
      s3,
      settingsOf: (name) => (name === 'publish' || name === 'operator' ? {} : settingsOf(name)),
    }),
  )
  const owned = stack.move()
  const servers = { kafka: [kafka], redis: [redis], s3: [s3] }
  let kept = copies
  const processes = (victim: Victim) => (isServer(victim) ? servers[victim] : cluster.processes(victim).slice(0, kept))
  return {
    cluster,
    tenants: tenants.values(),
    manifests,
    hookUrl: receiver.url,
    posts,
    proxy: (name, server) => proxies[name][server],
    processes,
    shiftClock: clocks.shift,
    async mutate(next, deployables) {
      const changed = [...new Set([...mutated, ...deployables])].flatMap(processes)
      mutant = next
      mutated = deployables
      await Promise.all(changed.map((each) => each.stop()))
      await Promise.all(changed.map((each) => each.start()))
    },
    async keepFirst() {
      kept = 1
      await Promise.all(DEPLOYABLES.flatMap((name) => cluster.processes(name).slice(kept)).map((each) => each.stop()))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Kills processes, runs `meanwhile`, and starts them again. */
export async function killed(rig: Rig, victim: Victim, meanwhile: () => Promise<void>): Promise<void> {
  const processes = rig.processes(victim)
  await Promise.all(processes.map((each) => each.kill()))
  await meanwhile()
  await Promise.all(processes.map((each) => each.start()))
}

export async function wipe({ cluster }: Rig): Promise<void> {
  const redis = new Redis(cluster.redis.url)
  await redis.flushall()
  redis.disconnect()
}

type Proxies = Readonly<Record<Deployable, Readonly<Record<Protocol, FaultProxy>>>>

async function openProxies(stack: AsyncDisposableStack): Promise<Proxies> {
  const open = async (protocol: Protocol) => stack.use(await openFaultProxy(protocol))
  const all = DEPLOYABLES.map(async (name) => {
    return [name, { kafka: await open('kafka'), redis: await open('redis'), s3: await open('s3') }] as const
  })
  // The list contains every deployable.
  return Object.fromEntries(await Promise.all(all)) as Proxies
}

export function tenantOf(at: number): TrialTenant {
  return { name: `trial-${at}`, key: `service_live_${`${at}`.padEnd(43, 'x')}` }
}

export function documentsOf(tenants: readonly TrialTenant[], hasAccounts = false): readonly object[] {
  return [
    plan('trial', { ...UNLIMITED, renderTimeoutSeconds: 10 }),
    ...tenants.flatMap(({ name, key: secret }) => [
      tenant(name, 'trial', hasAccounts ? { accountId: name } : {}),
      key(name, 'live', secret),
      template(name, 'letter', tsx(LETTER)),
    ]),
  ]
}

/** Selects the deliveries to refuse once, by their id, so that some retry is always under way. */
function isRefusedOnce(deliveryId: string): boolean {
  return Number.parseInt(deliveryId.at(-1) ?? '', 16) % 3 === 0
}
