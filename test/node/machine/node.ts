/** One real Kubernetes node, in the namespaces of `enter.ts`, with the servers of the product next to it. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { poll } from '../../time/poll.ts'
import { binaryOf } from '../../topology/server/binary.ts'
import { type KafkaServer, startKafka } from '../../topology/server/kafka.ts'
import { type KubeServer, startKube } from '../../topology/server/kube.ts'
import { type Recipe, startServer } from '../../topology/server/process.ts'
import { type RedisServer, startRedis } from '../../topology/server/redis.ts'
import { type S3Server, startS3 } from '../../topology/server/s3.ts'
import { CLUSTER_DOMAIN, PODS } from './address.ts'
import { passingOn, startKeda } from './keda.ts'
import { type Containerd, makeBridge, startContainerd, startKubelet } from './runtime.ts'

/** The node ends with its namespaces. */
export interface KubeNode {
  readonly kube: KubeServer
  readonly containerd: Containerd
  /** Folder where the kubelet looks for seccomp profiles. */
  readonly kubeletDir: string
  readonly kafka: KafkaServer
  readonly redis: RedisServer
  readonly s3: S3Server
}

/**
 * Starts a node without pods and imports these image archives. Resolves when pods can run. `TEST_SERVERS_HOST` must be the address of the
 * bridge.
 */
export async function startNode(archives: readonly string[]): Promise<KubeNode> {
  makeBridge()
  const folder = await mkdtemp(join(tmpdir(), 'platen-passing-on-'))
  const [kube, containerd, kafka, redis, s3] = await Promise.all([
    startKube({ hasPods: true, flags: passingOn({ folder }) }),
    startContainerd(),
    startKafka(),
    startRedis(),
    startS3(),
  ])
  for (const archive of archives) containerd.import(archive)
  const kubeconfig = await kube.kubeconfig('admin')
  const [key, ca] = ['key.pem', 'cert.pem'].map((name) => join(kube.folder, name))
  const controllers = [
    `--service-account-private-key-file=${key}`,
    `--root-ca-file=${ca}`,
    // The default interval is 15 seconds.
    '--horizontal-pod-autoscaler-sync-period=3s',
  ]
  await startServer(controlling('kube-controller-manager', kubeconfig, controllers))
  await startServer(controlling('kube-scheduler', kubeconfig, []))
  const kubelet = await startKubelet(kube, containerd)
  await startServer(proxyRecipe(kubeconfig))
  await startServer(dnsRecipe(kubeconfig))
  // Every pod mounts this ConfigMap.
  await poll(() => kube.request({ path: '/api/v1/namespaces/default/configmaps/kube-root-ca.crt' })).until(
    ({ status }) => status === 200,
  )
  await startKeda(kube)
  return { kube, containerd, kubeletDir: join(kubelet.folder, 'root'), kafka, redis, s3 }
}

/** Builds the recipe of a control plane process. A port of its own serves its health checks. */
function controlling(
  name: 'kube-controller-manager' | 'kube-scheduler',
  kubeconfig: string,
  flags: readonly string[],
): Recipe {
  return {
    name,
    command: ({ port, folder }) => ({
      path: binaryOf(name),
      args: [
        `--kubeconfig=${kubeconfig}`,
        `--secure-port=${port}`,
        `--cert-dir=${folder}`,
        '--leader-elect=false',
        // Health checks need no credentials.
        `--authentication-kubeconfig=${kubeconfig}`,
        `--authorization-kubeconfig=${kubeconfig}`,
        '--authorization-always-allow-paths=/healthz',
        ...flags,
      ],
    }),
    isReady: async (_place, _signal, log) => /Serving securely/.test(log()),
  }
}

function proxyRecipe(kubeconfig: string): Recipe {
  return {
    name: 'kube-proxy',
    portsCount: 2,
    async prepare({ folder, ports: [healthz, metrics] }) {
      const config = {
        apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
        kind: 'KubeProxyConfiguration',
        clientConnection: { kubeconfig },
        mode: 'iptables',
        clusterCIDR: PODS,
        healthzBindAddress: `127.0.0.1:${healthz}`,
        metricsBindAddress: `127.0.0.1:${metrics}`,
        conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
      }
      await writeFile(join(folder, 'config.json'), JSON.stringify(config))
    },
    command: ({ folder }) => ({
      path: binaryOf('kube-proxy'),
      args: [`--config=${join(folder, 'config.json')}`, '--hostname-override=node'],
    }),
    isReady: async ({ port }, signal) => (await fetch(`http://127.0.0.1:${port}/healthz`, { signal })).ok,
  }
}

/** Builds the recipe of the DNS server. It runs next to the node: pods reach it at the bridge, without a Service. */
function dnsRecipe(kubeconfig: string): Recipe {
  return {
    name: 'coredns',
    async prepare({ folder, port }) {
      const plugins = [
        'errors',
        `ready 127.0.0.1:${port}`,
        `kubernetes ${CLUSTER_DOMAIN} {`,
        `kubeconfig ${kubeconfig}`,
        '}',
      ]
      await writeFile(join(folder, 'Corefile'), ['.:53 {', ...plugins, '}', ''].join('\n'))
    },
    command: ({ folder }) => ({ path: binaryOf('coredns'), args: [`-conf=${join(folder, 'Corefile')}`] }),
    isReady: async ({ port }, signal) => (await fetch(`http://127.0.0.1:${port}/ready`, { signal })).ok,
  }
}
