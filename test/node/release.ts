/** Installs the chart on a node as a user would, with the images of `image.ts` and the servers next to the node. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { CHART, helm, type Values } from '../chart/helm.ts'
import { PODS } from './machine/address.ts'
import { TAG } from './machine/image.ts'
import type { KubeNode } from './machine/node.ts'

export const NAMESPACE = 'platen'
export const RELEASE = 'platen'

/** CPU request of each pod. The node has two cores, and other programs use them too. */
const small = (cpu: string) => ({ resources: { requests: { cpu } } })

/** Two sets of renderers for each engine: those for sync renders always run, the others start when renders wait. */
export const VALUES = {
  autoscaling: { kind: 'keda', pollingIntervalSeconds: 2, cooldownSeconds: 15 },
  api: { ...small('100m'), replicas: 2 },
  rendererDefaults: small('100m'),
  renderers: {
    html: null,
    'react-pdf': null,
    ...Object.fromEntries(
      ['html', 'react_pdf'].flatMap((engine) => [
        [`${engine.replace('_', '-')}-sync`, { engine, lanes: ['sync'], maxReplicas: 2 }],
        [`${engine.replace('_', '-')}-async`, { engine, lanes: ['async', 'bulk'], minReplicas: 0, maxReplicas: 2 }],
      ]),
    ),
  },
  webhooks: { allowHttp: true, allowCidrs: [PODS] },
  events: { ...small('50m'), replicas: 2 },
  operator: small('50m'),
} as const satisfies Values

/** Installs the chart and waits until its pods are ready. Throws with Helm's output. */
export async function installRelease(node: KubeNode): Promise<void> {
  await kubectl(node, ['create', 'namespace', NAMESPACE])
  await kubectl(node, ['label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted'])
  await makeSecret(node, 'platen', {
    idKeys: randomBytes(32).toString('base64url'),
    eventKey: randomBytes(32).toString('base64url'),
    sealKey: randomBytes(32).toString('base64'),
  })
  await makeSecret(node, 'platen-redis', { url: node.redis.url })
  await makeSecret(node, 'platen-s3', { ...node.s3.credentials })
  await onRelease(node, ['install', RELEASE, CHART, '--wait'])
}

/** Runs a Helm command, with additional values. Throws with Helm's output. */
export async function onRelease(node: KubeNode, command: readonly string[], values: Values = {}): Promise<string> {
  const where = [`--kubeconfig=${await node.kube.kubeconfig('admin')}`, `--namespace=${NAMESPACE}`]
  const takesValues = command[0] === 'install' || command[0] === 'upgrade'
  const { code, stdout, stderr } = await helm(
    [...command, ...where, '--timeout=5m'],
    takesValues ? { ...valuesFor(node), ...VALUES, ...values } : undefined,
  )
  if (code !== 0) throw new Error(`${stderr}\n${await whatIsThere(node)}`)
  return stdout
}

/** Returns the values for the servers next to a node. */
function valuesFor({ kafka, s3, redis }: KubeNode): Values {
  return {
    image: { registry: 'localhost', tag: TAG, pullPolicy: 'Never' },
    secretName: 'platen',
    kafka: { brokers: [kafka.broker], partitions: 4 },
    redis: { secretName: 'platen-redis' },
    s3: { bucket: 'platen', endpoint: s3.endpoint, region: s3.region, pathStyle: true, secretName: 'platen-s3' },
    networkPolicy: { ports: { redis: redis.port, s3: s3.port } },
  }
}

/** Copies the chart's seccomp profile to the kubelet's folder, as the provider of the nodes would. */
export function installProfile({ kubeletDir }: KubeNode): void {
  const folder = join(kubeletDir, 'seccomp/platen')
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(CHART, 'file/chromium.json'), join(folder, 'chromium.json'))
}

/** Runs kubectl as admin. Throws with its output. */
export async function kubectl({ kube }: KubeNode, args: readonly string[], stdin = ''): Promise<string> {
  const { code, stdout, stderr } = await kube.kubectl(args, { stdin })
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`)
  return stdout
}

async function makeSecret(node: KubeNode, name: string, entries: Readonly<Record<string, string>>): Promise<void> {
  const metadata = { name, namespace: NAMESPACE }
  await kubectl(
    node,
    ['create', '--filename=-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: entries }),
  )
}

async function whatIsThere(node: KubeNode): Promise<string> {
  const of = ['--namespace', NAMESPACE]
  return (
    await Promise.all([
      kubectl(node, ['get', 'pods', ...of, '--output=wide']),
      kubectl(node, ['get', 'events', ...of, '--sort-by=.lastTimestamp']),
      kubectl(node, ['logs', ...of, '--selector=app.kubernetes.io/name=platen', '--tail=5', '--prefix']).catch(String),
    ])
  ).join('\n')
}

/** Returns the address of a Service. The node can reach it, too. */
export async function addressOf(node: KubeNode, service: string): Promise<string> {
  const path = 'jsonpath={.spec.clusterIP}:{.spec.ports[0].port}'
  return `http://${await kubectl(node, ['get', 'service', service, '--namespace', NAMESPACE, '--output', path])}`
}
