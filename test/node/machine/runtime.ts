/** Starts the runtime of pods: containerd, the kubelet, and the network between them. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binaryOf } from '../../topology/server/binary.ts'
import type { KubeServer } from '../../topology/server/kube.ts'
import { type ServerProcess, startServer } from '../../topology/server/process.ts'
import { BRIDGE, CGROUP, CLUSTER_DOMAIN, PODS } from './address.ts'
import { PAUSE } from './image.ts'

export const NODE = 'node'
const BRIDGE_NAME = 'platen0'
const CNI_PLUGINS = '/usr/lib/cni'
const KUBELET_PORT = 10250

export interface Containerd extends ServerProcess {
  readonly socket: string
  import(archive: string): void
}

/** Creates the bridge of the pods. Its address is the node's address for pods. */
export function makeBridge(): void {
  const ip = (...words: readonly string[]) => execFileSync('ip', words)
  ip('link', 'add', BRIDGE_NAME, 'type', 'bridge')
  ip('address', 'add', `${BRIDGE}/16`, 'dev', BRIDGE_NAME)
  ip('link', 'set', BRIDGE_NAME, 'up')
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
}

export async function startContainerd(): Promise<Containerd> {
  const socketIn = (folder: string) => join(folder, 'c.sock')
  const server = await startServer({
    name: 'containerd',
    async prepare({ folder }) {
      const network = join(folder, 'cni')
      mkdirSync(network)
      writeFileSync(join(network, '10-pods.conflist'), JSON.stringify(networkIn(folder)))
      writeFileSync(join(folder, 'config.toml'), configOf(folder, network))
    },
    command: ({ folder }) => ({ path: 'containerd', args: ['--config', join(folder, 'config.toml')] }),
    isReady: async ({ folder }) => ctr(socketIn(folder), 'version') !== '',
  })
  const socket = socketIn(server.folder)
  return {
    ...server,
    socket,
    import: (archive) => void ctr(socket, '--namespace', 'k8s.io', 'images', 'import', archive),
  }
}

function ctr(socket: string, ...words: readonly string[]): string {
  return execFileSync('ctr', ['--address', socket, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function networkIn(folder: string): object {
  const ipam = {
    type: 'host-local',
    dataDir: join(folder, 'addresses'),
    ranges: [[{ subnet: PODS, gateway: BRIDGE }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  const bridge = { type: 'bridge', bridge: BRIDGE_NAME, isGateway: true, ipMasq: true, hairpinMode: true, ipam }
  return {
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [bridge, { type: 'portmap', capabilities: { portMappings: true } }],
  }
}

function configOf(folder: string, network: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  return [
    'version = 2',
    `root = "${join(folder, 'root')}"`,
    `state = "${join(folder, 'state')}"`,
    `[grpc]\naddress = "${join(folder, 'c.sock')}"`,
    `[${cri}]`,
    `sandbox_image = "${PAUSE}"`,
    // Without CAP_SYS_RESOURCE, no process may lower its OOM score, and runc fails.
    'restrict_oom_score_adj = true',
    'disable_apparmor = true',
    `[${cri}.cni]\nbin_dir = "${CNI_PLUGINS}"\nconf_dir = "${network}"`,
    `[${cri}.containerd.runtimes.runc]\nruntime_type = "io.containerd.runc.v2"`,
    '',
  ].join('\n')
}

/** Starts the kubelet. It is ready when the API server reports its node as ready, which is after the network is up. */
export async function startKubelet(kube: KubeServer, containerd: Containerd): Promise<ServerProcess> {
  const kubeconfig = await kube.kubeconfig('admin')
  return await startServer({
    name: 'kubelet',
    async prepare({ folder }) {
      mkdirSync(join(folder, 'logs'))
      writeFileSync(join(folder, 'config.json'), JSON.stringify(kubeletConfig(folder, containerd)))
    },
    command: ({ folder }) => ({
      path: binaryOf('kubelet'),
      args: [
        `--config=${join(folder, 'config.json')}`,
        `--kubeconfig=${kubeconfig}`,
        `--root-dir=${join(folder, 'root')}`,
        `--cert-dir=${join(folder, 'pki')}`,
        `--hostname-override=${NODE}`,
        `--node-ip=${BRIDGE}`,
      ],
    }),
    async isReady() {
      const { body } = await kube.request({ path: `/api/v1/nodes/${NODE}` })
      const conditions = (body['status'] as { conditions?: { type: string; status: string }[] } | undefined)?.conditions
      return conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
    },
  })
}

function kubeletConfig(folder: string, { socket }: Containerd): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${CGROUP}`,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: true,
    podLogsDir: join(folder, 'logs'),
    port: KUBELET_PORT,
    clusterDNS: [BRIDGE],
    clusterDomain: CLUSTER_DOMAIN,
    // Only this machine can reach it.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    // Other programs share this machine. Their memory use must not evict pods.
    evictionHard: { 'memory.available': '50Mi' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    nodeStatusUpdateFrequency: '2s',
    syncFrequency: '5s',
  }
}
