/**
 * A real Kubernetes API: an API server on an etcd, and nothing behind it. No controller removes what has lost its owner, empties a
 * namespace that was deleted, or adds roles to those that aggregate them; and no node runs anything.
 */
import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, request as requestSecurely } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseAllDocuments } from 'yaml'
import { until } from '../../time/until.ts'
import { aCertificate, type Certificate } from '../host.ts'
import { binaryOf } from './binary.ts'
import { HOST } from './free-port.ts'
import { type Place, type ServerProcess, startServer } from './process.ts'

/** Somebody the API server knows by a token of theirs. */
export interface Persona {
  /** As RBAC binds it: a user, or `system:serviceaccount:<namespace>:<name>`. */
  readonly name: string
  readonly groups?: readonly string[]
}

export interface KubeOptions {
  /** Whom it knows beside `ADMIN`. */
  readonly personas?: readonly Persona[]
  /** More flags of the API server, as `--min-request-timeout=10`. */
  readonly flags?: readonly string[]
  /** Is it for pods? Then it asks for service accounts, which a controller makes, and tells pods where it is. */
  readonly hasPods?: boolean
}

/** What a client of an API server has to know; as JSON, too. */
export interface KubeFacts {
  readonly port: number
  /** Whom to trust, in PEM. */
  readonly ca: string
  /** By persona. */
  readonly tokens: Readonly<Record<string, string>>
  /** Where clients may keep files, which go with the server. In `AUDIT_LOG` is who has asked for Secrets, and all that service accounts have asked for. */
  readonly folder: string
}

/** An API server as its clients have it. */
export interface KubeApi extends KubeFacts {
  /** `https://…`, without a slash at the end. */
  readonly url: string
  /** What a persona says to be known. Throws for one it was not started with. */
  token(persona: string): string
  /** Writes the file by which a client is one of the personas, there or at a proxy in front; resolves to its path. */
  kubeconfig(persona: string, url?: string): Promise<string>
  /** Runs `kubectl`, as `ADMIN` where nobody is named. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<Ended>
  /** Asks the API server itself, as `ADMIN` where nobody is named. */
  request(call: KubeRequest): Promise<KubeAnswer>
  /** Applies files of manifests; resolves when what they define can be listed. Throws with kubectl's words when one is refused. */
  apply(files: readonly string[]): Promise<void>
}

/** The API server: stopping, killing or pausing it leaves etcd alone, and with it all that is stored. */
export interface KubeServer extends ServerProcess, KubeApi {
  readonly port: number
  readonly folder: string
  readonly etcd: EtcdServer
}

export interface EtcdServer extends ServerProcess {
  readonly url: string
  /**
   * Forgets all but what is stored now. To watch from before, or to go on with a list, is then answered 410 by an API server that
   * was started again, and by one with `--watch-cache=false` at once.
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
  /** GET if absent. */
  readonly method?: string
  /** From the root, with its query. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Of the body: which kind of patch it is. JSON if absent. */
  readonly type?: string
  /** How it is to be answered. JSON of everything if absent. */
  readonly accept?: string
  readonly as?: string
}

export interface KubeAnswer {
  readonly status: number
  /** An object of Kubernetes; a `Status` where the request was refused. */
  readonly body: Readonly<Record<string, unknown>>
}

/** May do everything. */
export const ADMIN = 'admin'
/** A JSON object on each line, as `audit.k8s.io/v1` has it. */
export const AUDIT_LOG = 'audit.log'

const JSON_TYPE = 'application/json'
/** For an API server of minutes and a few hundred objects: it has memory to spare, and collects less. */
const BRIEF = { GOGC: '400' }
const NAME = 'kube.example.test'
/** The addresses of Services, and that of the API server among them. */
export const SERVICES = '10.76.0.0/24'
const SERVICE_ADDRESS = '10.76.0.1'
/** The name of a node resolves nowhere. */
const WITH_PODS = ['--kubelet-preferred-address-types=InternalIP', '--allow-privileged=true']
/** Else a pod waits for a controller that makes service accounts, and whoever ends it for one to leave the endpoints. */
const WITHOUT_PODS = ['--disable-admission-plugins=ServiceAccount', '--endpoint-reconciler-type=none']

/** Starts an API server with nothing in it but what it makes itself. */
export async function startKube({ personas = [], flags = [], hasPods = false }: KubeOptions = {}): Promise<KubeServer> {
  // Looked for before anything is started.
  const path = binaryOf('kube-apiserver')
  // Whoever runs it by hand may leave it up for long.
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
        // It outlives its process by what the system has taken, which is all that a test needs.
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
    // As its gateway has it: numbers of 64 bits are texts.
    return (await answer.json()) as { readonly header: { readonly revision: string } }
  }
  // Of no key at all: only the revision is wanted.
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
    // Else it looks for a network that it could be reached by.
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
    // Else it waits a minute for whoever watches.
    '--shutdown-watch-termination-grace-period=1s',
    `--audit-policy-file=${join(folder, 'audit.json')}`,
    `--audit-log-path=${join(folder, AUDIT_LOG)}`,
  ]
}

/** A client of an API server that is there. */
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
    // It may end before it has read all.
    child.stdin.on('error', () => undefined).end(stdin)
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: typeof code === 'number' ? code : null, stdout, stderr }
  }
  // A handshake costs more than most answers.
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
      for (const path of await definedBy(manifests)) await until(() => request({ path }), isListed)
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

/** Where the kinds that some manifests define are listed. They are served a moment after their definition is established. */
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
  /** Absent = a connection of its own. */
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

/** Probes answer in words. */
function objectOf(answer: string): KubeAnswer['body'] {
  // The API server answers with objects, and nothing else that begins like one.
  return answer.startsWith('{') ? (JSON.parse(answer) as KubeAnswer['body']) : {}
}
