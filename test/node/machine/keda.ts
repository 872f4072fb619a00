/**
 * Starts KEDA next to a node: its operator, which reads the lag in Kafka, and its adapter, which serves the lag to the Kubernetes
 * autoscaler.
 */
import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { poll } from '../../time/poll.ts'
import { aCertificate, type Certificate } from '../../topology/host.ts'
import { binaryOf } from '../../topology/server/binary.ts'
import type { KubeServer } from '../../topology/server/kube.ts'
import { type ServerProcess, startServer } from '../../topology/server/process.ts'
import { BRIDGE } from './address.ts'

const NAMESPACE = 'keda'
const SERVICE = 'keda-metrics-apiserver'
const GROUP_VERSION = 'external.metrics.k8s.io/v1beta1'
const API = `/apis/${GROUP_VERSION}`

/**
 * Returns the flags with which an API server forwards requests to aggregated APIs. It identifies itself to them by a separate certificate.
 */
export function passingOn({ folder }: { readonly folder: string }): readonly string[] {
  const { key, cert } = aCertificate({ name: 'passing-on.example.test' })
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  writeFileSync(keyFile, key, { mode: 0o600 })
  writeFileSync(certFile, cert)
  return [
    `--requestheader-client-ca-file=${certFile}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${certFile}`,
    `--proxy-client-key-file=${keyFile}`,
  ]
}

/** Starts operator and adapter. Resolves when the API server serves KEDA's metrics. */
export async function startKeda(kube: KubeServer): Promise<void> {
  // The build places the definitions next to the command.
  const definitions = join(dirname(binaryOf('keda-operator')), 'crds')
  await kubectl(kube, ['apply', '--server-side', `--filename=${definitions}`])
  await kubectl(kube, ['create', 'namespace', NAMESPACE])
  const kubeconfig = await kube.kubeconfig('admin')
  const certificate = aCertificate({ name: 'keda.example.test', addresses: ['127.0.0.1', BRIDGE] })
  const operator = await startOperator(kubeconfig, certificate)
  const adapter = await startAdapter(kubeconfig, certificate, operator)
  await kubectl(
    kube,
    ['apply', '--filename=-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: apiOf(adapter.port) }),
  )
  await poll(() => kube.request({ path: API })).until(({ status }) => status === 200)
}

async function writeCertificate(folder: string, { key, cert }: Certificate): Promise<string> {
  const certs = join(folder, 'certs')
  await mkdir(certs)
  writeFileSync(join(certs, 'ca.crt'), cert)
  writeFileSync(join(certs, 'tls.crt'), cert)
  writeFileSync(join(certs, 'tls.key'), key, { mode: 0o600 })
  return certs
}

function environmentOf(kubeconfig: string): NodeJS.ProcessEnv {
  return {
    KUBECONFIG: kubeconfig,
    WATCH_NAMESPACE: '',
    POD_NAMESPACE: NAMESPACE,
    KEDA_CLUSTER_OBJECT_NAMESPACE: NAMESPACE,
  }
}

/** Starts the operator. Its first port serves probes, its second the lag. */
function startOperator(kubeconfig: string, certificate: Certificate): Promise<ServerProcess> {
  return startServer({
    name: 'keda-operator',
    portsCount: 3,
    prepare: async ({ folder }) => void (await writeCertificate(folder, certificate)),
    command: ({ folder, ports: [probe, lag, metrics] }) => ({
      path: binaryOf('keda-operator'),
      args: [
        `--health-probe-bind-address=127.0.0.1:${probe}`,
        `--metrics-service-bind-address=127.0.0.1:${lag}`,
        `--metrics-bind-address=127.0.0.1:${metrics}`,
        `--cert-dir=${join(folder, 'certs')}`,
        '--enable-webhook-patching=false',
        '--enable-apiservice-patching=false',
      ],
      env: environmentOf(kubeconfig),
    }),
    isReady: async ({ port }, signal) => (await fetch(`http://127.0.0.1:${port}/readyz`, { signal })).ok,
  })
}

function startAdapter(kubeconfig: string, certificate: Certificate, operator: ServerProcess): Promise<ServerProcess> {
  const [, lag] = operator.ports
  return startServer({
    name: 'keda-adapter',
    portsCount: 2,
    prepare: async ({ folder }) => void (await writeCertificate(folder, certificate)),
    command: ({ folder, ports: [port, metrics] }) => {
      const certs = join(folder, 'certs')
      const asks = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig', 'lister-kubeconfig']
      return {
        path: binaryOf('keda-adapter'),
        args: [
          `--bind-address=${BRIDGE}`,
          `--secure-port=${port}`,
          `--port=${metrics}`,
          `--metrics-service-address=127.0.0.1:${lag}`,
          `--cert-dir=${certs}`,
          `--tls-cert-file=${join(certs, 'tls.crt')}`,
          `--tls-private-key-file=${join(certs, 'tls.key')}`,
          ...asks.map((name) => `--${name}=${kubeconfig}`),
        ],
        env: environmentOf(kubeconfig),
      }
    },
    isReady: async (_place, _signal, log) => /Serving securely/.test(log()),
  })
}

/** Returns the objects that connect the API server to a process outside the cluster: a Service without pods, and its APIService. */
function apiOf(port: number): readonly object[] {
  const metadata = { name: SERVICE, namespace: NAMESPACE }
  const labels = { 'kubernetes.io/service-name': SERVICE }
  const [group, version] = GROUP_VERSION.split('/')
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ name: 'https', port: 443 }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels },
      addressType: 'IPv4',
      ports: [{ name: 'https', port }],
      endpoints: [{ addresses: [BRIDGE] }],
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `${version}.${group}` },
      spec: {
        group,
        version,
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { name: SERVICE, namespace: NAMESPACE },
      },
    },
  ]
}

async function kubectl(kube: KubeServer, args: readonly string[], stdin = ''): Promise<void> {
  const { code, stderr } = await kube.kubectl(args, { stdin })
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`)
}
