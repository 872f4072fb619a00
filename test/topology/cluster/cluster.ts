/**
 * The cluster topology on one machine: each deployable is a separate process, on a real Kafka, Redis and S3. `platen publish` replaces the
 * operator. Everything is on loopback, and ends when the process that started it ends.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { MAIN_THREAD_OPTIONS, MALLOC, RENDERING_OPTIONS } from '../embedded.ts'
import { startKafka } from '../server/kafka.ts'
import { type Place, type Recipe, type ServerProcess, startServer } from '../server/process.ts'
import { type RedisServer, startRedis } from '../server/redis.ts'
import { type S3Server, s3Settings, startS3 } from '../server/s3.ts'

const ROOT = new URL('../../..', import.meta.url).pathname
export const SERVICE_BUCKET = 'platen'

export interface ClusterOptions {
  /** Settings of all processes, in addition to the connections. */
  readonly settings: Readonly<Record<string, string>>
  readonly manifestsDir: string
  readonly dataDir: string
  /** A Kubernetes API whose resources are published by this many operators. Absent = `platen publish` publishes `manifestsDir`. */
  readonly kube?: { readonly kubeconfig: string; readonly operators: number }
  /** Ports of the API processes, one for each process. 0 = any free port. */
  readonly apiPorts: readonly number[]
  readonly engines: readonly Engine[]
  /** Renderers of each engine. Default: 1. */
  readonly renderers?: number
  /** Processes that deliver webhooks. Default: 1. */
  readonly events?: number
  /** Buckets in addition to the service's own. */
  readonly buckets?: readonly string[]
  /** Servers that the caller owns; absent = the cluster starts its own. On the caller's Kafka, topics start with the prefix. */
  readonly kafka?: { readonly broker: string; readonly topicPrefix?: string }
  readonly redis?: RedisServer
  readonly s3?: S3Server
  /**
   * Settings of one process, such as connections through a proxy. `at` counts the processes of a deployable from 0. Called at each start.
   */
  readonly settingsOf?: (name: Deployable, at: number) => Readonly<Record<string, string>>
}

export interface Cluster extends AsyncDisposable {
  readonly urls: readonly string[]
  readonly broker: string
  readonly redis: RedisServer
  readonly s3: S3Server
  readonly topicPrefix: string
  readonly eventKey: Uint8Array
  /** Settings with which processes reach the servers. */
  readonly connections: Readonly<Record<string, string>>
  processes(name: Deployable): readonly ServerProcess[]
  /** Output of all processes. From before a restart, only what the last call before it returned. */
  readonly log: () => string
  /**
   * Ends the processes as an operator would. Resolves with the highest exit code; null when a signal ended one. The servers keep running.
   */
  readonly stop: () => Promise<number | null>
  readonly kill: () => Promise<void>
  /** Starts the processes again, after `stop` or `kill`. */
  readonly start: () => Promise<void>
}

export type Deployable = 'publish' | 'operator' | 'api' | 'renderer' | 'events'

/** Resolves when the manifests are published and every process is ready. Throws with the log of a process that does not start. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  await using stack = new AsyncDisposableStack()
  const { buckets = [] } = options
  const owned = async <T extends AsyncDisposable>(starting: Promise<T>) => stack.use(await starting)
  const [redis, s3, kafka] = await Promise.all([
    options.redis ?? owned(startRedis()),
    options.s3 ?? owned(startS3([SERVICE_BUCKET, ...buckets])),
    options.kafka ?? owned(startKafka()),
  ])
  const { broker } = kafka
  const { topicPrefix = '' } = options.kafka ?? {}
  const connections = connectionsTo({ redis, s3, broker, topicPrefix })
  const secrets = makeSecrets()
  const recipes = recipesOf(options, { ...connections, ...secrets, ...options.settings })
  const start = (all: readonly Recipe[]) => Promise.all(all.map((recipe) => owned(startServer(recipe))))
  // Settings come first: a renderer without settings would render for suspended tenants.
  const publish = await start(recipes.publish)
  const operator = await start(recipes.operator)
  const [api, renderer, events] = await Promise.all([
    start(recipes.api),
    start(recipes.renderer),
    start(recipes.events),
  ])
  const groups: Readonly<Record<Deployable, readonly ServerProcess[]>> = { publish, operator, api, renderer, events }
  const all = Object.values(groups).flat()
  const rest = [...api, ...renderer, ...events]
  const whole = stack.move()
  return {
    urls: api.map(({ port }) => `http://127.0.0.1:${port}`),
    broker,
    redis,
    s3,
    topicPrefix,
    eventKey: Buffer.from(secrets.PLATEN_EVENT_KEY, 'base64url'),
    connections,
    processes: (name) => groups[name],
    log: joinedLog(all),
    async stop() {
      const codes = await Promise.all(all.map((each) => each.stop()))
      return codes.includes(null) ? null : Math.max(...codes.map(Number))
    },
    kill: async () => void (await Promise.all(all.map((each) => each.kill()))),
    async start() {
      for (const each of [...publish, ...operator]) await each.start()
      await Promise.all(rest.map((each) => each.start()))
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  }
}

/** Each call adds what was written since the previous call. */
function joinedLog(processes: readonly ServerProcess[]): () => string {
  const read = new Map<ServerProcess, number>()
  let joined = ''
  return () => {
    for (const each of processes) {
      const text = each.log()
      const known = read.get(each) ?? 0
      // A restarted process begins a new log.
      joined += text.length < known ? text : text.slice(known)
      read.set(each, text.length)
    }
    return joined
  }
}

interface Servers {
  readonly redis: RedisServer
  readonly s3: S3Server
  readonly broker: string
  readonly topicPrefix: string
}

function connectionsTo({ redis, s3, broker, topicPrefix }: Servers): Readonly<Record<string, string>> {
  return {
    PLATEN_REDIS_URL: redis.url,
    PLATEN_KAFKA_BROKERS: broker,
    PLATEN_KAFKA_TOPIC_PREFIX: topicPrefix,
    PLATEN_KAFKA_PARTITIONS: '2',
    ...s3Settings(s3),
  }
}

/** Shared by all processes of one installation. */
function makeSecrets() {
  return {
    PLATEN_ID_KEYS: randomBytes(32).toString('base64url'),
    PLATEN_EVENT_KEY: randomBytes(32).toString('base64url'),
    PLATEN_SEAL_KEY: randomBytes(32).toString('base64'),
  }
}

function recipesOf(
  options: ClusterOptions,
  env: Readonly<Record<string, string>>,
): Readonly<Record<Deployable, readonly Recipe[]>> {
  const { apiPorts, engines, renderers = 1, events = 1, manifestsDir, dataDir, kube } = options
  const { settingsOf = () => ({}) } = options
  const counts = new Map<Deployable, number>()
  const deployable = (name: Deployable, own: Readonly<Record<string, string>>): Recipe => {
    const at = counts.get(name) ?? 0
    counts.set(name, at + 1)
    return recipeOf(name, () => ({ ...own, ...settingsOf(name, at) }))
  }
  const publish: Recipe = {
    name: 'publish',
    command: ({ folder }) =>
      commandOf(['cli/src/main.ts', 'publish', manifestsDir, '--watch'], {
        ...env,
        ...settingsOf('publish', 0),
        PLATEN_DATA_DIR: dataDir,
        TMPDIR: folder,
      }),
    isReady: async (_place, _signal, log) => /^watching /m.test(log()),
  }
  const access = kube && { KUBECONFIG: kube.kubeconfig }
  return {
    publish: kube === undefined ? [publish] : [],
    operator: Array.from({ length: kube?.operators ?? 0 }, () => deployable('operator', { ...env, ...access })),
    api: apiPorts.map((port) => ({
      ...deployable('api', { ...env, PLATEN_ENGINES: engines.join(',') }),
      ...(port !== 0 && { port }),
    })),
    renderer: engines.flatMap((engine) =>
      Array.from({ length: renderers }, () => deployable('renderer', { ...env, PLATEN_ENGINES: engine })),
    ),
    events: Array.from({ length: events }, () => deployable('events', env)),
  }
}

/** A deployable with a port for probes and, if it has callers, a port for them. */
function recipeOf(name: Deployable, settings: () => Readonly<Record<string, string>>): Recipe {
  const probesOf = ({ ports: [, probes] }: Place) => `${probes}`
  return {
    name,
    portsCount: 2,
    command(place) {
      const { path, args, ...started } = commandOf([`${name}/src/main.ts`], {
        ...MALLOC,
        ...settings(),
        PLATEN_HOST: '127.0.0.1',
        ...(name === 'api' && { PLATEN_PORT: `${place.port}` }),
        PLATEN_METRICS_PORT: probesOf(place),
        TMPDIR: place.folder,
      })
      // As in the images.
      const options = [...MAIN_THREAD_OPTIONS, ...(name === 'renderer' ? RENDERING_OPTIONS : [])]
      return { path, args: name === 'operator' ? args : [...options, ...args], ...started }
    },
    isReady: async (place, signal) => (await fetch(`http://127.0.0.1:${probesOf(place)}/readyz`, { signal })).ok,
  }
}

function commandOf([program = '', ...args]: readonly string[], env: Readonly<Record<string, string>>) {
  const inherited = Object.keys(process.env).filter(
    (name) => (name.startsWith('PLATEN_') && name !== 'PLATEN_CHROMIUM') || name === 'NODE_OPTIONS',
  )
  const cleared = Object.fromEntries(inherited.map((name) => [name, undefined]))
  return { path: process.execPath, args: [join(ROOT, program), ...args], env: { ...cleared, ...env } }
}
