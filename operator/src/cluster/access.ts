/**
 * Where the API server is and who asks it, by client-node, which knows all ways a kubeconfig has of saying so and reads a token again
 * before it ends. It takes a while to load, so that happens here and nowhere else.
 */
import type { Agent, RequestOptions } from 'node:https'
import { registerHooks } from 'node:module'
import type { KubeConfig } from '@kubernetes/client-node'

export interface Access {
  /** With the path it may have, without a slash at its end. */
  readonly server: string
  /** What the next request carries: credentials that are in force now, and what it takes for TLS. */
  authorize(): Promise<Credentials>
}

export type Credentials = Omit<RequestOptions, 'headers'> & { readonly headers: Readonly<Record<string, string>> }

const NO_CLIENTS = 'data:text/javascript,export const createConfiguration = undefined, ServerConfiguration = undefined'

/** What client-node takes for the API server where nothing says where one is. */
const CLIENT_NODE_DEFAULT = 'http://localhost:8080'

/**
 * By the kubeconfig in that file; without one by the variable KUBECONFIG, `~/.kube/config`, or the service account of the pod, the
 * first there is. Throws with what is wrong, and repeats nothing of the file.
 */
export async function loadAccess(kubeconfig?: string): Promise<Access> {
  const KubeConfig = await loadKubeConfig()
  const config = new KubeConfig()
  const fault = faultOf(() => (kubeconfig === undefined ? config.loadFromDefault() : config.loadFromFile(kubeconfig)))
  if (fault !== undefined) {
    throw new Error(`the kubeconfig ${kubeconfig ?? 'of the environment'} cannot be read: ${fault}`)
  }
  return { server: serverOf(config), authorize: () => authorize(config) }
}

/**
 * With the module of kubeconfigs come clients for all APIs and the models of all resources, 45 MB and some seconds of a small machine,
 * for a method that makes such a client. Nobody calls it here, so they are left out.
 */
async function loadKubeConfig(): Promise<new () => KubeConfig> {
  const withoutClients = registerHooks({
    resolve(specifier, context, nextResolve) {
      const isLeftOut =
        specifier === './gen/index.js' && context.parentURL?.endsWith('/client-node/dist/config.js') === true
      return isLeftOut ? { url: NO_CLIENTS, format: 'module', shortCircuit: true } : nextResolve(specifier, context)
    },
  })
  try {
    return (await import('@kubernetes/client-node/dist/config.js')).KubeConfig
  } finally {
    withoutClients.deregister()
  }
}

/** Why a kubeconfig cannot be read. What a parser says of it is left out, as it quotes the file with its credentials. */
function faultOf(load: () => void): string | undefined {
  try {
    load()
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'it is not a kubeconfig'
  }
}

function serverOf(config: KubeConfig): string {
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error('the kubeconfig has no current context, or its context has no cluster')
  const isDefault = cluster.server === CLIENT_NODE_DEFAULT && cluster.name === 'cluster'
  if (isDefault || cluster.server.includes('//undefined')) {
    throw new Error('there is no API server: set KUBECONFIG, or run in a pod with a service account')
  }
  if (!URL.canParse(cluster.server)) throw new Error('the server of the kubeconfig is no URL')
  if (cluster.server.startsWith('http:') && !cluster.skipTLSVerify) {
    throw new Error('the server of the kubeconfig has no TLS: credentials do not go there')
  }
  return cluster.server.replace(/\/+$/, '')
}

async function authorize(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions & { headers: Record<string, string>; agent?: Agent } = { headers: {} }
  await config.applyToHTTPSOptions(options)
  // Its agent keeps no connection, and the certificates it was made with for ever; but it knows the way through a proxy.
  if (config.getCurrentCluster()?.proxyUrl === undefined) delete options.agent
  return options
}
