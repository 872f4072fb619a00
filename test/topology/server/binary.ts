/**
 * Where the real servers of the tests lie. Each is found as one command: by its environment variable, else on `PATH`, else in the
 * cache, into which `make servers` puts what is found nowhere.
 */
import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { VERSIONS } from './version.ts'

interface Server {
  /** The command that starts it, by its name on `PATH` and in the cache. */
  readonly command: string
  /** What is searched before `PATH`. */
  readonly variable: string
  /** Its folder in the cache; absent where the system's package manager installs it. */
  readonly cached?: string | undefined
}

/**
 * Each server's command, and its folder in the cache where one is built; a Kafka is started by the script with which its distribution
 * runs any class of it.
 */
const COMMANDS = {
  redis: ['redis-server'],
  kafka: ['kafka-run-class.sh', `kafka-${VERSIONS.kafka}`],
  s3: ['versitygw', `versitygw-${VERSIONS.versitygw}`],
  etcd: ['etcd', `etcd-${VERSIONS.etcd}`],
  'kube-apiserver': ['kube-apiserver', `kube-apiserver-${VERSIONS.kubernetes}`],
  kubectl: ['kubectl', `kubectl-${VERSIONS.kubernetes}`],
  kubelet: ['kubelet', `kubelet-${VERSIONS.kubernetes}`],
  'kube-controller-manager': ['kube-controller-manager', `kube-controller-manager-${VERSIONS.kubernetes}`],
  'kube-scheduler': ['kube-scheduler', `kube-scheduler-${VERSIONS.kubernetes}`],
  'kube-proxy': ['kube-proxy', `kube-proxy-${VERSIONS.kubernetes}`],
  'keda-operator': ['keda-operator', `keda-operator-${VERSIONS.keda}`],
  'keda-adapter': ['keda-adapter', `keda-adapter-${VERSIONS.keda}`],
  prometheus: ['prometheus', `prometheus-${VERSIONS.prometheus}`],
  coredns: ['coredns', `coredns-${VERSIONS.coredns}`],
  /** No server; what installs the chart on one. */
  helm: ['helm', `helm-${VERSIONS.helm}`],
  helm3: ['helm3', `helm-${VERSIONS.helm3}`],
  'kube-score': ['kube-score', `kube-score-${VERSIONS.kubeScore}`],
  /** No command, but a folder: the CustomResourceDefinitions of others whose kinds the chart has. */
  'foreign-crds': [
    'foreign-crds',
    `crds-keda-${VERSIONS.keda}-gateway-${VERSIONS.gatewayApi}-prometheus-${VERSIONS.prometheusOperator}`,
  ],
  /** No server either; what tries out the alerts. */
  promtool: ['promtool', `promtool-${VERSIONS.prometheus}`],
} as const satisfies Readonly<Record<string, readonly [command: string, cached?: string]>>

export type ServerName = keyof typeof COMMANDS

/** The servers by their names. */
export const SERVERS = Object.fromEntries(
  Object.entries(COMMANDS).map(([name, [command, cached]]) => {
    const variable = `PLATEN_TEST_${name.toUpperCase().replaceAll('-', '_')}`
    return [name, { command, variable, cached } satisfies Server]
  }),
  // One was made of each command.
) as { readonly [Name in ServerName]: Server & { readonly cached: (typeof COMMANDS)[Name][1] } }

/** What the processes of a service stand on. */
export const SERVICE_SERVERS: readonly ServerName[] = ['redis', 'kafka', 's3']
/** What the operator stands on: the Kubernetes whose resources it follows, and where settings are published. */
export const KUBERNETES_SERVERS: readonly ServerName[] = ['redis', 's3', 'etcd', 'kube-apiserver', 'kubectl']
/** What a node of Kubernetes is made of, beside an API server. Only `make node` and `make e2e` ask for it. */
export const NODE_SERVERS = [
  'kubelet',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-proxy',
  'coredns',
  'keda-operator',
  'keda-adapter',
  'prometheus',
] as const satisfies readonly ServerName[]
/** What the chart is held against. They take minutes to build, and tests run meanwhile that do without. */
export const CHART_SERVERS: readonly ServerName[] = [
  'etcd',
  'kube-apiserver',
  'kubectl',
  'helm',
  'helm3',
  'kube-score',
  'foreign-crds',
  'promtool',
]

/** Where a command was found, and how. */
export interface Binary {
  readonly path: string
  readonly from: 'variable' | 'PATH' | 'cache'
}

/** What is searched besides the file system. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Finds a server's command; undefined when it is nowhere. Throws when its variable names something that cannot be run. */
export function findBinary(name: ServerName, environment: Environment): Binary | undefined {
  const { command, variable, cached }: Server = SERVERS[name]
  const chosen = environment[variable]
  if (chosen) {
    // Another one would run instead of the one that was asked for, and nobody would notice.
    if (!isRunnable(chosen)) throw new Error(`${variable} is no file that can be run: ${chosen}`)
    return { path: chosen, from: 'variable' }
  }
  const folders = (environment['PATH'] ?? '').split(delimiter).filter(Boolean)
  const onPath = folders.map((folder) => join(folder, command)).find(isRunnable)
  if (onPath !== undefined) return { path: onPath, from: 'PATH' }
  const inCache = cached && join(cacheFolder(environment), cached, command)
  return inCache && isRunnable(inCache) ? { path: inCache, from: 'cache' } : undefined
}

/** Where servers are kept that were built: by the XDG convention, so that all clones on a machine have it in common. */
export function cacheFolder(environment: Environment): string {
  return join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'platen', 'servers')
}

/** Set where tests are to run on no server, whatever is there. */
export const WITHOUT_SERVERS = 'PLATEN_TEST_WITHOUT_SERVERS'

/** Can tests that need all of these run? */
export function hasServers(names: readonly ServerName[]): boolean {
  // Says of each that is missing that it is.
  return names.filter((name) => !hasServer(name)).length === 0
}

/** Has the names of servers that are missing as far as a run was told so: processes inherit it, so that each is told of once. */
const TOLD = 'PLATEN_TEST_TOLD_MISSING'

/**
 * Can the tests of a server run? Where it is missing they are to be skipped, `describe.skipIf(!hasServer('redis'))`, and this says so
 * loudly, once a run. In CI it is true whatever is there: starting the server then fails, and with it the run.
 */
export function hasServer(name: ServerName): boolean {
  if (process.env[WITHOUT_SERVERS] !== undefined) return false
  if (findBinary(name, process.env) !== undefined || process.env['CI'] === 'true') return true
  const told = (process.env[TOLD] ?? '').split(' ')
  if (told.includes(name)) return false
  process.env[TOLD] = [...told, name].join(' ')
  const { command } = SERVERS[name]
  process.stderr.write(`SKIPPED: there is no ${command} here, and so no test of ${name}; to get it: make servers\n`)
  return false
}

/** The command of a server that is to start now. */
export function binaryOf(name: ServerName): string {
  const found = findBinary(name, process.env)
  if (found === undefined) throw new Error(`there is no ${SERVERS[name].command} here; to get it: make servers`)
  return found.path
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
