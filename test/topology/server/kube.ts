/**
 * A real Kubernetes API: an API server on an etcd, without controllers and nodes. So nobody removes objects without an owner, empties
 * deleted namespaces, or fills aggregated roles, and no pod runs.
 */
import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, request as requestSecurely } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseAllDocuments } from 'yaml'
import { poll } from '../../time/poll.ts'
import { aCertificate, type Certificate } from '../host.ts'
import { binaryOf } from './binary.ts'
import { HOST } from './port.ts'
import { type Place, type ServerProcess, startServer } from './process.ts'

/** A user that the API server knows by a token. */
export interface Persona {
  /** Name as RBAC uses it: a user, or `system:serviceaccount:<namespace>:<name>`. */
  readonly name: string
  readonly groups?: readonly string[]
}

export interface KubeOptions {
  readonly personas?: readonly Persona[]
  /** Additional flags of the API server, for example `--min-request-timeout=10`. */
  readonly flags?: readonly string[]
  /** Pods will use it: then it requires service accounts, which a controller creates, and tells pods its address. */
  readonly hasPods?: boolean
}

/** Can be sent to clients as JSON. */
export interface KubeFacts {
  readonly port: number
  /** Certificate to trust, in PEM. */
  readonly ca: string
  /** Tokens by persona. */
  readonly tokens: Readonly<Record<string, string>>
  /**
   * Folder for files of clients; it is removed with the server. Its `AUDIT_LOG` records all requests for Secrets, and all requests of
   * service accounts.
   */
  readonly folder: string
}

export interface KubeApi extends KubeFacts {
  /** `https://…`, without a slash at the end. */
  readonly url: string
  /** Throws for a persona it was not started with. */
  token(persona: string): string
  /** Writes a kubeconfig for a persona, for the server or for a proxy in front of it. Resolves with the path. */
  kubeconfig(persona: string, url?: string): Promise<string>
  /** By default as `ADMIN`. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<Ended>
  /** By default as `ADMIN`. */
  request(call: KubeRequest): Promise<KubeAnswer>
  /** Resolves when the kinds that the files define can be listed. Throws with kubectl's output when a manifest is refused. */
  apply(files: readonly string[]): Promise<void>
}

/** When it is stopped, killed or paused, etcd and all stored objects remain. */
export interface KubeServer extends ServerProcess, KubeApi {
  readonly port: number
  readonly folder: string
  readonly etcd: EtcdServer
}

export interface EtcdServer extends ServerProcess {
  readonly url: string
  /**
   * Removes all old revisions. Watches from an old revision and continued lists are then answered 410. That needs a restart of the API
   * server, or `--watch-cache=false`.
   */
  compact(): Promise<void>
}

export interface KubectlOptions {
  readonly as?: string
  readonly stdin?: string
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface KubeRequest {
  /** Default: GET. */
  readonly method?: string
  /** Path from the root, with its query. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Content type of the body: the kind of patch. Default: JSON. */
  readonly type?: string
  /** Content type of the answer. Default: JSON with all fields. */
  readonly accept?: string
  readonly as?: string
}

export interface KubeAnswer {
  readonly status: number
  /** A Kubernetes object. It is a `Status` when the request was refused. */
  readonly body: Readonly<Record<string, unknown>>
}

/** User with all rights. */
export const ADMIN = 'admin'
/** Log with one JSON object per line, in the format `audit.k8s.io/v1`. */
export const AUDIT_LOG = 'audit.log'

const JSON_TYPE = 'application/json'
/** For short runs with a few hundred objects: it has spare memory, so it collects garbage less often. */
const BRIEF = { GOGC: '400' }
const NAME = 'kube.example.test'
/** Addresses of Services, including that of the API server. */
export const SERVICES = '10.76.0.0/24'
const SERVICE_ADDRESS = '10.76.0.1'
/** Names of nodes cannot be resolved here, so it uses their addresses. */
const WITH_PODS = ['--kubelet-preferred-address-types=InternalIP', '--allow-privileged=true']
/**
 * Without these flags, a pod waits for a controller that creates service accounts, and a stopping API server waits until it is removed from
 * the endpoints.
 */
const WITHOUT_PODS = ['--disable-admission-plugins=ServiceAccount', '--endpoint-reconciler-type=none']

/** It contains only its own default objects. */
export async function startKube({ personas = [], flags = [], hasPods = false }: KubeOptions = {}): Promise<KubeServer> {
  // Checked before anything is started.
  const path = binaryOf('kube-apiserver')
  // Valid for a year, because a server started by hand may run for long.
  const certificate = aCertificate({ name: NAME, addresses: [HOST, SERVICE_ADDRESS], days: 365 })
  const known = [{ name: ADMIN, groups: ['system:masters'] }, ...personas]
  const tokens = Object.fromEntries(known.map(({ name }) => [name, randomBytes(16).toString('hex')]))
  const ask = (port: number, call: KubeRequest) => requestOf({ port, ca: certificate.cert, tokens }, call)
  const etcd = await startEtcd()
  try {
    const server = await startServer({
      name: 'kube-apiserver',
      prepare: (place) => prepare(place, { certificate, known, tokens }),
      command: (place) => ({
        path,
        args: [...flagsOf(place, etcd), ...(hasPods ? WITH_PODS : WITHOUT_PODS), ...flags],
        env: BRIEF,
      }),
      async isReady({ port }) {
        const answers = [await ask(port, { path: '/readyz' }), await ask(port, { path: '/api/v1/namespaces/default' })]
        return answers.every(({ status }) => status === 200)
      },
    })
    return {
      ...server,
      ...kubeApi({ ...server, tokens, ca: certificate.cert }),
      etcd,
      async [Symbol.asyncDispose]() {
        await server[Symbol.asyncDispose]()
        await etcd[Symbol.asyncDispose]()
      },
    }
  } catch (cause) {
    await etcd[Symbol.asyncDispose]()
    throw cause
  }
}

async function startEtcd(): Promise<EtcdServer> {
  const path = binaryOf('etcd')
  const urlOf = (port: number | undefined) => `http://${HOST}:${port}`
  const server = await startServer({
    name: 'etcd',
    portsCount: 2,
    command: ({ folder, ports: [port, peerPort] }) => ({
      path,
      args: [
        `--data-dir=${join(folder, 'data')}`,
        `--listen-client-urls=${urlOf(port)}`,
        `--advertise-client-urls=${urlOf(port)}`,
        `--listen-peer-urls=${urlOf(peerPort)}`,
        // Data survives a kill of the process because the system has it in memory. That is enough for tests.
        '--unsafe-no-fsync',
      ],
    }),
    isReady: async ({ port }, signal) => (await fetch(`${urlOf(port)}/health`, { signal })).ok,
  })
  const url = urlOf(server.port)
  return { ...server, url, compact: () => compact(url) }
}

async function compact(url: string): Promise<void> {
  const ask = async (call: string, body: object) => {
    const answer = await fetch(`${url}/v3/kv/${call}`, { method: 'POST', body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`etcd answered ${answer.status}`)
    // etcd's gateway sends 64-bit numbers as text.
    return (await answer.json()) as { readonly header: { readonly revision: string } }
  }
  // A key that does not exist: only the revision is needed.
  const { header } = await ask('range', { key: Buffer.of(0).toString('base64') })
  await ask('compaction', { revision: header.revision, physical: true })
}

type Tokens = KubeFacts['tokens']

async function prepare(
  { folder }: Place,
  { certificate, known, tokens }: { certificate: Certificate; known: readonly Persona[]; tokens: Tokens },
): Promise<void> {
  const rows = known.map(({ name, groups = [] }) => `${tokens[name]},"${name}","${name}","${groups.join(',')}"\n`)
  await writeFile(join(folder, 'token.csv'), rows.join(''), { mode: 0o600 })
  await writeFile(join(folder, 'key.pem'), certificate.key, { mode: 0o600 })
  await writeFile(join(folder, 'cert.pem'), certificate.cert)
  await writeFile(join(folder, 'audit.json'), JSON.stringify(AUDIT))
}

const AUDIT = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }] },
    { level: 'Metadata', userGroups: ['system:serviceaccounts'] },
    { level: 'None' },
  ],
}

function flagsOf({ folder, port }: Place, etcd: EtcdServer): readonly string[] {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  return [
    `--etcd-servers=${etcd.url}`,
    `--bind-address=${HOST}`,
    // Otherwise it looks for a network address of this machine.
    `--advertise-address=${HOST}`,
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
    `--tls-cert-file=${cert}`,
    `--tls-private-key-file=${key}`,
    `--service-cluster-ip-range=${SERVICES}`,
    `--service-account-issuer=https://${HOST}:${port}`,
    `--service-account-key-file=${cert}`,
    `--service-account-signing-key-file=${key}`,
    '--authorization-mode=RBAC',
    `--token-auth-file=${join(folder, 'token.csv')}`,
    '--profiling=false',
    // Otherwise it waits a minute for open watches.
    '--shutdown-watch-termination-grace-period=1s',
    `--audit-policy-file=${join(folder, 'audit.json')}`,
    `--audit-log-path=${join(folder, AUDIT_LOG)}`,
  ]
}

export function kubeApi({ port, ca, tokens, folder }: KubeFacts): KubeApi {
  const path = binaryOf('kubectl')
  const url = `https://${HOST}:${port}`
  const kubeconfig = async (persona: string, at = url) => {
    const file = join(folder, `kubeconfig-${randomUUID()}`)
    await writeFile(file, JSON.stringify(configOf({ url: at, ca, token: tokenOf(tokens, persona) })), { mode: 0o600 })
    return file
  }
  const kubectl: KubeServer['kubectl'] = async (args, { as = ADMIN, stdin = '' } = {}) => {
    const cached = `--cache-dir=${join(folder, 'discovery')}`
    const child = spawn(path, [cached, `--kubeconfig=${await kubeconfig(as)}`, ...args])
    // kubectl may exit before it has read all of its input.
    child.stdin.on('error', () => undefined).end(stdin)
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: typeof code === 'number' ? code : null, stdout, stderr }
  }
  // A TLS handshake takes longer than most answers.
  const agent = new Agent({ keepAlive: true })
  const request: KubeServer['request'] = (call) => requestOf({ port, ca, tokens, agent }, call)
  return {
    port,
    ca,
    tokens,
    folder,
    url,
    token: (persona) => tokenOf(tokens, persona),
    kubeconfig,
    kubectl,
    request,
    async apply(manifests) {
      const { code, stderr } = await kubectl(['apply', ...manifests.map((file) => `--filename=${file}`)])
      if (code !== 0) throw new Error(stderr)
      for (const path of await definedBy(manifests)) await poll(() => request({ path })).until(isListed)
    },
  }
}

function configOf({ url, ca, token }: { url: string; ca: string; token: string }): object {
  const name = 'test'
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  }
}

function tokenOf(tokens: Tokens, persona: string): string {
  const token = tokens[persona]
  if (token === undefined) throw new Error(`the API server was not told of ${persona}`)
  return token
}

/** The list paths of the kinds. The API server serves them a moment after their definition is established. */
async function definedBy(files: readonly string[]): Promise<readonly string[]> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  const documents = texts.flatMap((manifests) => parseAllDocuments(manifests))
  const definitions = documents.filter((document) => document.get('kind') === 'CustomResourceDefinition')
  return definitions.map((document) => {
    const at = (...path: readonly (string | number)[]) => String(document.getIn(['spec', ...path]))
    return `/apis/${at('group')}/${at('versions', 0, 'name')}/${at('names', 'plural')}?limit=1`
  })
}

function isListed({ status }: KubeAnswer): boolean {
  return status === 200
}

interface Connecting extends Omit<KubeFacts, 'folder'> {
  /** Absent = a separate connection. */
  readonly agent?: Agent
}

function requestOf({ port, ca, tokens, agent }: Connecting, call: KubeRequest): Promise<KubeAnswer> {
  const { method = 'GET', path, body, type = JSON_TYPE, accept = JSON_TYPE, as = ADMIN } = call
  const { promise, resolve, reject } = Promise.withResolvers<KubeAnswer>()
  const headers = { authorization: `Bearer ${tokenOf(tokens, as)}`, 'content-type': type, accept }
  const request = requestSecurely({ host: HOST, port, ca, method, path, headers, agent: agent ?? false })
  request.once('error', reject)
  request.once('response', (response) => {
    const answerOf = (answer: string): KubeAnswer => ({ status: response.statusCode ?? 0, body: objectOf(answer) })
    text(response).then(answerOf).then(resolve, reject)
  })
  request.end(body === undefined ? undefined : JSON.stringify(body))
  return promise
}

/** Probes answer in plain text. */
function objectOf(answer: string): KubeAnswer['body'] {
  // JSON answers of the API server are objects. No other answer starts with a brace.
  return answer.startsWith('{') ? (JSON.parse(answer) as KubeAnswer['body']) : {}
}
