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
  readonly cached?: string
}

/** The servers; a Kafka is started by the script with which its distribution runs any class of it. */
export const SERVERS = {
  redis: { command: 'redis-server', variable: 'PLATEN_TEST_REDIS' },
  kafka: { command: 'kafka-run-class.sh', variable: 'PLATEN_TEST_KAFKA', cached: `kafka-${VERSIONS.kafka}` },
  s3: { command: 'versitygw', variable: 'PLATEN_TEST_S3', cached: `versitygw-${VERSIONS.versitygw}` },
  etcd: { command: 'etcd', variable: 'PLATEN_TEST_ETCD', cached: `etcd-${VERSIONS.etcd}` },
  'kube-apiserver': {
    command: 'kube-apiserver',
    variable: 'PLATEN_TEST_KUBE_APISERVER',
    cached: `kube-apiserver-${VERSIONS.kubernetes}`,
  },
  kubectl: { command: 'kubectl', variable: 'PLATEN_TEST_KUBECTL', cached: `kubectl-${VERSIONS.kubernetes}` },
  kubelet: { command: 'kubelet', variable: 'PLATEN_TEST_KUBELET', cached: `kubelet-${VERSIONS.kubernetes}` },
  'kube-controller-manager': {
    command: 'kube-controller-manager',
    variable: 'PLATEN_TEST_KUBE_CONTROLLER_MANAGER',
    cached: `kube-controller-manager-${VERSIONS.kubernetes}`,
  },
  'kube-scheduler': {
    command: 'kube-scheduler',
    variable: 'PLATEN_TEST_KUBE_SCHEDULER',
    cached: `kube-scheduler-${VERSIONS.kubernetes}`,
  },
  'kube-proxy': {
    command: 'kube-proxy',
    variable: 'PLATEN_TEST_KUBE_PROXY',
    cached: `kube-proxy-${VERSIONS.kubernetes}`,
  },
  'keda-operator': {
    command: 'keda-operator',
    variable: 'PLATEN_TEST_KEDA_OPERATOR',
    cached: `keda-operator-${VERSIONS.keda}`,
  },
  'keda-adapter': {
    command: 'keda-adapter',
    variable: 'PLATEN_TEST_KEDA_ADAPTER',
    cached: `keda-adapter-${VERSIONS.keda}`,
  },
  prometheus: {
    command: 'prometheus',
    variable: 'PLATEN_TEST_PROMETHEUS',
    cached: `prometheus-${VERSIONS.prometheus}`,
  },
  coredns: { command: 'coredns', variable: 'PLATEN_TEST_COREDNS', cached: `coredns-${VERSIONS.coredns}` },
  /** No server; what installs the chart on one. */
  helm: { command: 'helm', variable: 'PLATEN_TEST_HELM', cached: `helm-${VERSIONS.helm}` },
  helm3: { command: 'helm3', variable: 'PLATEN_TEST_HELM3', cached: `helm-${VERSIONS.helm3}` },
  'kube-score': {
    command: 'kube-score',
    variable: 'PLATEN_TEST_KUBE_SCORE',
    cached: `kube-score-${VERSIONS.kubeScore}`,
  },
  /** No command, but a folder: the CustomResourceDefinitions of others whose kinds the chart has. */
  'foreign-crds': {
    command: 'foreign-crds',
    variable: 'PLATEN_TEST_FOREIGN_CRDS',
    cached: `crds-keda-${VERSIONS.keda}-gateway-${VERSIONS.gatewayApi}-prometheus-${VERSIONS.prometheusOperator}`,
  },
  /** No server either; what tries out the alerts. */
  promtool: { command: 'promtool', variable: 'PLATEN_TEST_PROMTOOL', cached: `promtool-${VERSIONS.prometheus}` },
} as const satisfies Readonly<Record<string, Server>>

export type ServerName = keyof typeof SERVERS

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
