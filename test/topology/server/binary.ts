/**
 * Finds the real servers of the tests by their commands: in an environment variable, else on `PATH`, else in the cache, which `make
 * servers` fills.
 */
import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { VERSIONS } from './version.ts'

interface Server {
  /** Name of its command, on `PATH` and in the cache. */
  readonly command: string
  /** Environment variable that is checked before `PATH`. */
  readonly variable: string
  /** Its folder in the cache. Absent when the system's package manager installs it. */
  readonly cached?: string | undefined
}

/** Command, and folder in the cache of servers that are built. Kafka's command is the script of its distribution that runs any class. */
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
  /** Not a server: the tool that installs the chart on one. */
  helm: ['helm', `helm-${VERSIONS.helm}`],
  helm3: ['helm3', `helm-${VERSIONS.helm3}`],
  'kube-score': ['kube-score', `kube-score-${VERSIONS.kubeScore}`],
  /** Not a command but a folder: CustomResourceDefinitions of other projects, for kinds that the chart uses. */
  'foreign-crds': [
    'foreign-crds',
    `crds-keda-${VERSIONS.keda}-gateway-${VERSIONS.gatewayApi}-prometheus-${VERSIONS.prometheusOperator}`,
  ],
  /** Not a server: the tool that tests the alerts. */
  promtool: ['promtool', `promtool-${VERSIONS.prometheus}`],
} as const satisfies Readonly<Record<string, readonly [command: string, cached?: string]>>

export type ServerName = keyof typeof COMMANDS

export const SERVERS = Object.fromEntries(
  Object.entries(COMMANDS).map(([name, [command, cached]]) => {
    const variable = `PLATEN_TEST_${name.toUpperCase().replaceAll('-', '_')}`
    return [name, { command, variable, cached } satisfies Server]
  }),
  // The loop above makes one entry for each command.
) as { readonly [Name in ServerName]: Server & { readonly cached: (typeof COMMANDS)[Name][1] } }

/** Servers that the processes of a service need. */
export const SERVICE_SERVERS: readonly ServerName[] = ['redis', 'kafka', 's3']
/** Servers that the operator needs: the Kubernetes whose resources it follows, and the stores to which it publishes settings. */
export const KUBERNETES_SERVERS: readonly ServerName[] = ['redis', 's3', 'etcd', 'kube-apiserver', 'kubectl']
/** Parts of a Kubernetes node, in addition to an API server. Only `make node` and `make e2e` need them. */
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
/** Servers and tools that test the chart. Building them takes minutes; tests that do not need them run meanwhile. */
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

export interface Binary {
  readonly path: string
  readonly from: 'variable' | 'PATH' | 'cache'
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Throws when the variable names something that cannot be run. */
export function findBinary(name: ServerName, environment: Environment): Binary | undefined {
  const { command, variable, cached }: Server = SERVERS[name]
  const chosen = environment[variable]
  if (chosen) {
    // Without this check another binary would run silently instead of the chosen one.
    if (!isRunnable(chosen)) throw new Error(`${variable} is no file that can be run: ${chosen}`)
    return { path: chosen, from: 'variable' }
  }
  const folders = (environment['PATH'] ?? '').split(delimiter).filter(Boolean)
  const onPath = folders.map((folder) => join(folder, command)).find(isRunnable)
  if (onPath !== undefined) return { path: onPath, from: 'PATH' }
  const inCache = cached && join(cacheFolder(environment), cached, command)
  return inCache && isRunnable(inCache) ? { path: inCache, from: 'cache' } : undefined
}

/** Follows the XDG convention, so all clones on a machine share it. */
export function cacheFolder(environment: Environment): string {
  return join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'platen', 'servers')
}

/** Set when tests must run without servers, even if they are installed. */
export const WITHOUT_SERVERS = 'PLATEN_TEST_WITHOUT_SERVERS'

export function hasServers(names: readonly ServerName[]): boolean {
  // Not `every`, which would stop at the first missing server: each one must be reported.
  return names.filter((name) => !hasServer(name)).length === 0
}

/** Names of missing servers that were already reported. Processes inherit it, so each server is reported once. */
const WARNED = 'PLATEN_TEST_WARNED_OF'

/**
 * Used as `describe.skipIf(!hasServer('redis'))`. Reports a missing server once per run. In CI it always returns true, so that the start of
 * a missing server fails the run.
 */
export function hasServer(name: ServerName): boolean {
  if (process.env[WITHOUT_SERVERS] !== undefined) return false
  if (findBinary(name, process.env) !== undefined || process.env['CI'] === 'true') return true
  const warned = (process.env[WARNED] ?? '').split(' ')
  if (warned.includes(name)) return false
  process.env[WARNED] = [...warned, name].join(' ')
  const { command } = SERVERS[name]
  process.stderr.write(`SKIPPED: there is no ${command} here, and so no test of ${name}; to get it: make servers\n`)
  return false
}

/** Throws when the server is missing. */
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
