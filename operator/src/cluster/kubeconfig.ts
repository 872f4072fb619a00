/** The kubeconfig: where the API server is, and the credentials for it. client-node reads it and renews tokens before they expire. */
import { type Cluster, KubeConfig } from '@kubernetes/client-node'

/** For a context that names no namespace. It is the namespace of the documents, and nobody uses it by accident, unlike `default`. */
const NAMESPACE_DEFAULT = 'platen'

/** client-node assumes this server when nothing configures one. */
const CLIENT_NODE_DEFAULT = 'http://localhost:8080'

/**
 * Reads the given kubeconfig. Without one, uses the first that exists: the variable KUBECONFIG, `~/.kube/config`, the service account of
 * the pod. Throws an error that says what is wrong and quotes nothing of the file.
 */
export function loadKubeConfig(file?: string): KubeConfig {
  const config = new KubeConfig()
  const fault = faultOf(() => (file === undefined ? config.loadFromDefault() : config.loadFromFile(file)))
  if (fault !== undefined) throw new Error(`the kubeconfig ${file ?? 'of the environment'} cannot be read: ${fault}`)
  checkServer(clusterOf(config))
  // client-node appends paths as they are, and `//api` is redirected: a POST would become a GET.
  config.clusters = config.clusters.map((cluster) => ({ ...cluster, server: cluster.server?.replace(/\/+$/, '') }))
  return config
}

export function clusterOf(config: KubeConfig): Cluster {
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error('the kubeconfig has no current context, or its context has no cluster')
  return cluster
}

/** The namespace of the operator itself: that of the current context, which in a pod is the pod's own. */
export function namespaceOf(config: KubeConfig): string {
  return config.getContextObject(config.getCurrentContext())?.namespace || NAMESPACE_DEFAULT
}

/** Leaves out the message of the parser, which quotes the file and its credentials. */
function faultOf(load: () => void): string | undefined {
  try {
    load()
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'it is not a kubeconfig'
  }
}

function checkServer({ name, server, skipTLSVerify }: Cluster): void {
  const isDefault = server === CLIENT_NODE_DEFAULT && name === 'cluster'
  if (isDefault || server.includes('//undefined')) {
    throw new Error('no API server is configured: set KUBECONFIG, or run in a pod with a service account')
  }
  if (!URL.canParse(server)) throw new Error('the server in the kubeconfig is not a URL')
  if (server.startsWith('http:') && !skipTLSVerify) {
    throw new Error('the server in the kubeconfig does not use TLS: credentials are not sent to it')
  }
}
