/**
 * The program behind `make servers`. It installs missing servers of the tests with the system's package manager, or builds them from a
 * package registry into the cache. A build runs in its own folder and gets its final name when it is complete, so an interrupted build
 * leaves nothing usable. When two builds run at once, the first to end wins and both succeed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  cacheFolder,
  type Environment,
  findBinary,
  NODE_SERVERS,
  SERVERS,
  SERVICE_SERVERS,
  type ServerName,
} from './binary.ts'
import { VERSIONS } from './version.ts'

interface Installation {
  /** Commands that the build needs, each with its Debian package. */
  readonly tools?: Readonly<Record<string, string>>
  /** Builds the command into an empty folder. Absent when the package `debian` is installed instead. */
  readonly build?: (folder: string) => void
  readonly debian?: string
}

const GO = { go: 'golang-go' }

const INSTALLATIONS: Readonly<Record<ServerName, Installation>> = {
  redis: { debian: 'redis-server' },
  kafka: { tools: { java: 'openjdk-17-jre-headless', mvn: 'maven' }, build: buildKafka },
  s3: {
    tools: GO,
    build: (folder) => installGo(folder, `github.com/versity/versitygw/cmd/versitygw@v${VERSIONS.versitygw}`),
  },
  etcd: { tools: GO, build: buildEtcd },
  'kube-apiserver': { tools: GO, build: (folder) => buildKubernetes(folder, 'kube-apiserver') },
  // Built after the API server, because they share most of their packages.
  kubectl: { tools: GO, build: (folder) => buildKubernetes(folder, 'kubectl') },
  helm: { tools: GO, build: (folder) => installGo(folder, `helm.sh/helm/v4/cmd/helm@v${VERSIONS.helm}`) },
  helm3: { tools: GO, build: buildHelm3 },
  'kube-score': {
    tools: GO,
    build: (folder) => installGo(folder, `github.com/zegl/kube-score/cmd/kube-score@v${VERSIONS.kubeScore}`),
  },
  'foreign-crds': { tools: GO, build: copyForeignCrds },
  kubelet: { tools: GO, build: (folder) => buildKubernetes(folder, 'kubelet') },
  'kube-controller-manager': { tools: GO, build: (folder) => buildKubernetes(folder, 'kube-controller-manager') },
  'kube-scheduler': { tools: GO, build: (folder) => buildKubernetes(folder, 'kube-scheduler') },
  'kube-proxy': { tools: GO, build: (folder) => buildKubernetes(folder, 'kube-proxy') },
  coredns: { tools: GO, build: buildCoreDns },
  'keda-operator': { tools: GO, build: (folder) => buildKeda(folder, 'operator') },
  'keda-adapter': { tools: GO, build: (folder) => buildKeda(folder, 'adapter') },
  promtool: { tools: GO, build: (folder) => buildPrometheus(folder, 'promtool') },
  prometheus: { tools: GO, build: (folder) => buildPrometheus(folder, 'prometheus') },
}

/** The API server takes 4 to 8 minutes on two idle cores. */
const BUILD_MS_MAX = 60 * 60_000
const DRAFT = /^\.building-(\d+)-/

/** Returns whether all servers are present. */
function installServers(
  environment: Environment,
  { say, isQuick, isForNode }: { say: (line: string) => void; isQuick: boolean; isForNode: boolean },
): boolean {
  const all = Object.keys(INSTALLATIONS).filter((name): name is ServerName => name in SERVERS)
  const ofNode: readonly ServerName[] = NODE_SERVERS
  const names = all.filter(
    (name) => (!isQuick || SERVICE_SERVERS.includes(name)) && (isForNode || !ofNode.includes(name)),
  )
  const missing = names.filter((name) => {
    const startedAt = performance.now()
    try {
      const found = findBinary(name, environment)
      if (found === undefined) install(name, environment)
      const { path, from } = found ?? findBinary(name, environment) ?? raise('it was installed and is not found')
      const how = found ? from : `installed in ${Math.round((performance.now() - startedAt) / 1000)} s`
      say(`${name}: ${path} (${how})`)
      return false
    } catch (cause) {
      say(`${name}: missing; ${cause instanceof Error ? cause.message : String(cause)}`)
      return true
    }
  })
  return missing.length === 0
}

function install(name: ServerName, environment: Environment): void {
  const { tools = {}, build, debian } = INSTALLATIONS[name]
  const lacking = Object.keys(tools).filter((tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0)
  const packages = [...lacking.map((tool) => tools[tool] ?? tool), ...(debian === undefined ? [] : [debian])]
  // Without the rights, the script prints the command to type.
  if (packages.length > 0) run('.ci/apt-install', packages)
  if (build === undefined) return
  const home = SERVERS[name].cached ?? raise(`${name} has no place in the cache`)
  buildInCache(home, build, cacheFolder(environment))
}

/** The empty folder becomes `home` in the cache after a successful build. */
export function buildInCache(home: string, build: (folder: string) => void, cache: string): void {
  mkdirSync(cache, { recursive: true })
  sweep(cache)
  const draft = mkdtempSync(join(cache, `.building-${process.pid}-`))
  try {
    build(draft)
    // A rename replaces only an empty folder, so the first finished build stays.
    renameSync(draft, join(cache, home))
  } catch (cause) {
    if (!isTaken(cause)) throw cause
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function sweep(cache: string): void {
  for (const name of readdirSync(cache)) {
    const builder = Number(DRAFT.exec(name)?.[1])
    if (builder > 0 && !isAlive(builder)) rmSync(join(cache, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // EPERM means that the process exists and belongs to another user.
    return codeOf(cause) === 'EPERM'
  }
}

/** Its libraries, and the script of its distributions that runs one of their classes. */
function buildKafka(folder: string): void {
  const dependency = (group: string, artifact: string, version: string) =>
    `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`
  const project = [
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>',
    '<groupId>dev.platen</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>',
    dependency('org.apache.kafka', 'kafka_2.13', VERSIONS.kafka),
    dependency('org.slf4j', 'slf4j-simple', VERSIONS.slf4j),
    '</dependencies></project>',
  ]
  const pom = join(folder, 'pom.xml')
  writeFileSync(pom, project.join('\n'))
  run('mvn', ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${join(folder, 'lib')}`])
  const script = join(folder, SERVERS.kafka.command)
  writeFileSync(script, '#!/bin/sh\nexec java ${KAFKA_HEAP_OPTS:-} -cp "$(dirname "$0")/lib/*" "$@"\n')
  chmodSync(script, 0o755)
}

function installGo(folder: string, command: string): void {
  run('go', ['install', command], { GOBIN: folder })
}

/** The command needs another name than the Helm that installs the chart. */
function buildHelm3(folder: string): void {
  installGo(folder, `helm.sh/helm/v3/cmd/helm@v${VERSIONS.helm3}`)
  renameSync(join(folder, 'helm'), join(folder, SERVERS.helm3.command))
}

/** Definitions of all kinds that the chart may create: a module, a folder in it, and file names. */
const FOREIGN_CRDS = [
  {
    module: `github.com/kedacore/keda/v2@v${VERSIONS.keda}`,
    folder: 'config/crd/bases',
    files: ['keda.sh_scaledobjects', 'keda.sh_triggerauthentications'],
  },
  {
    module: `sigs.k8s.io/gateway-api@v${VERSIONS.gatewayApi}`,
    folder: 'config/crd/standard',
    files: ['gateway.networking.k8s.io_httproutes'],
  },
  {
    module: `github.com/prometheus-operator/prometheus-operator@v${VERSIONS.prometheusOperator}`,
    folder: 'example/prometheus-operator-crd',
    files: ['podmonitors', 'servicemonitors', 'prometheusrules'].map((kind) => `monitoring.coreos.com_${kind}`),
  },
]

/** From the published modules. Nothing is built. */
function copyForeignCrds(folder: string): void {
  const home = join(folder, SERVERS['foreign-crds'].command)
  mkdirSync(home)
  for (const { module, folder: place, files } of FOREIGN_CRDS) {
    const { Dir: unpacked } = goJson(['mod', 'download', '-json', module])
    for (const file of files) copyFileSync(join(String(unpacked), place, `${file}.yaml`), join(home, `${file}.yaml`))
  }
}

/** Builds without cloud service discovery, whose libraries are most of the code. */
function buildPrometheus(folder: string, command: 'promtool' | 'prometheus'): void {
  const place = `github.com/prometheus/prometheus/cmd/${command}@v${VERSIONS.prometheus}`
  run('go', ['install', '-tags=remove_all_sd', place], { GOBIN: folder })
}

/** From our own main package: `go install` refuses modules with replace directives. */
function buildEtcd(folder: string): void {
  const required = 'go.etcd.io/etcd/server/v3'
  const main = [
    'package main',
    'import "os"',
    `import "${required}/etcdmain"`,
    'func main() { etcdmain.Main(os.Args) }',
  ]
  writeFileSync(join(folder, 'main.go'), main.join('\n'))
  writeFileSync(join(folder, 'go.mod'), goModule([`require ${required} v${VERSIONS.etcd}`]))
  buildGo(folder, { name: SERVERS.etcd.command, place: '.' })
}

/**
 * The module requires its libraries as v0.0.0, from folders in the same repository. Each library is also published on its own, with 0
 * instead of 1 in the version.
 */
function buildKubernetes(folder: string, command: ServerName): void {
  const module = 'k8s.io/kubernetes'
  const { GoMod: place } = goJson(['mod', 'download', '-json', `${module}@v${VERSIONS.kubernetes}`])
  const { Require: required } = goJson(['mod', 'edit', '-json', String(place)])
  const libraries = (Array.isArray(required) ? required : []).filter(({ Version }) => Version === 'v0.0.0')
  const [major, minor] = VERSIONS.kubernetes.split('.')
  const published = VERSIONS.kubernetes.replace(/^1/, '0')
  writeFileSync(
    join(folder, 'go.mod'),
    goModule([
      `require ${module} v${VERSIONS.kubernetes}`,
      ...libraries.map(({ Path }) => `replace ${Path} => ${Path} v${published}`),
    ]),
  )
  // Without this, the command reports the version v0.0.0.
  const fields = { gitVersion: `v${VERSIONS.kubernetes}`, gitMajor: major, gitMinor: minor }
  const flags = Object.entries(fields).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  buildGo(folder, { name: command, place: `${module}/cmd/${command}`, flags })
}

/** With the three plugins that pods need. Building all plugins takes ten minutes. */
function buildCoreDns(folder: string): void {
  const module = 'github.com/coredns/coredns'
  const plugins = ['ready', 'errors', 'kubernetes']
  const main = [
    'package main',
    `import "${module}/core/dnsserver"`,
    `import "${module}/coremain"`,
    ...plugins.map((name) => `import _ "${module}/plugin/${name}"`),
    `func init() { dnsserver.Directives = []string{${plugins.map((name) => `"${name}"`).join()}} }`,
    'func main() { coremain.Run() }',
  ]
  writeFileSync(join(folder, 'main.go'), main.join('\n'))
  writeFileSync(join(folder, 'go.mod'), goModule([`require ${module} v${VERSIONS.coredns}`]))
  buildGo(folder, { name: SERVERS.coredns.command, place: '.' })
}

/** Inside the module, because it uses replace directives. Its definitions are placed next to the command. */
function buildKeda(folder: string, command: 'operator' | 'adapter'): void {
  const { Dir: unpacked } = goJson(['mod', 'download', '-json', `github.com/kedacore/keda/v2@v${VERSIONS.keda}`])
  const flags = ['-mod=readonly', '-ldflags=-s -w', '-o', join(folder, `keda-${command}`)]
  run('go', ['build', '-C', String(unpacked), ...flags, `./cmd/${command}`])
  cpSync(join(String(unpacked), 'config/crd/bases'), join(folder, 'crds'), { recursive: true })
}

function goModule(lines: readonly string[]): string {
  return ['module platen.dev/server', 'go 1.24.0', ...lines, ''].join('\n')
}

/** Without debug information. */
function buildGo(folder: string, build: { name: string; place: string; flags?: readonly string[] }): void {
  const { name, place, flags = [] } = build
  const linked = `-ldflags=${['-s', '-w', ...flags].join(' ')}`
  run('go', ['build', '-C', folder, '-mod=mod', linked, '-o', join(folder, name), place])
}

/** Runs outside any module. */
export function goJson(args: readonly string[]): Readonly<Record<string, unknown>> {
  return JSON.parse(
    execFileSync('go', args, { stdio: ['ignore', 'pipe', 2], cwd: tmpdir(), timeout: BUILD_MS_MAX }).toString(),
  )
}

/** Shows the output. Throws when the command fails or takes too long. */
export function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  const stdio = ['ignore', 2, 2] as const
  const options = { stdio: [...stdio], timeout: BUILD_MS_MAX, env: { ...process.env, ...env } }
  const { status, signal, error } = spawnSync(command, args, options)
  if (status !== 0) throw new Error(`${command} ended with ${error?.message ?? signal ?? status}`)
}

function isTaken(cause: unknown): boolean {
  const code = codeOf(cause)
  return code === 'ENOTEMPTY' || code === 'EEXIST'
}

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}

function raise(message: string): never {
  throw new Error(message)
}

if (import.meta.main) {
  // Contributors can work without some servers: their tests are skipped. CI cannot.
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  const isComplete = installServers(process.env, {
    say,
    isQuick: process.argv.includes('--quick'),
    isForNode: process.argv.includes('--node'),
  })
  process.exitCode = isComplete ? 0 : 1
}
