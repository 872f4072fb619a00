/**
 * The address of the API server and the credentials for it. client-node reads them: it knows every form of a kubeconfig and renews tokens
 * before they expire. It is slow to load, so only this module loads it.
 */
import type { Agent, RequestOptions } from 'node:https'
import { registerHooks } from 'node:module'
import type { KubeConfig } from '@kubernetes/client-node'

export interface Access {
  /** Includes the path, if there is one. Has no slash at the end. */
  readonly server: string
  /** Returns what the next request needs: the current credentials and the TLS options. */
  authorize(): Promise<Credentials>
}

export type Credentials = Omit<RequestOptions, 'headers'> & { readonly headers: Readonly<Record<string, string>> }

/** The imports of client-node's kubeconfig that are left out, and the names that it imports from each. */
const LEFT_OUT = new Map([
  ['./gen/index.js', ['createConfiguration', 'ServerConfiguration']],
  ['undici', ['Agent', 'ProxyAgent']],
])

/** The server that client-node assumes when nothing configures one. */
const CLIENT_NODE_DEFAULT = 'http://localhost:8080'

/**
 * Reads the given kubeconfig. Without one, uses the first that exists: the variable KUBECONFIG, `~/.kube/config`, the service account of
 * the pod. Throws an error that says what is wrong and quotes nothing of the file.
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
 * The kubeconfig module of client-node also imports the clients of all APIs, the models of all resources, and an HTTP client for them. They
 * cost 55 MB and some seconds on a small machine. Only methods that nobody calls here need them, so the imports are replaced.
 */
async function loadKubeConfig(): Promise<new () => KubeConfig> {
  const withoutClients = registerHooks({
    resolve(specifier, context, nextResolve) {
      const isKubeconfig = context.parentURL?.endsWith('/client-node/dist/config.js') === true
      const names = isKubeconfig ? LEFT_OUT.get(specifier) : undefined
      if (names === undefined) return nextResolve(specifier, context)
      const url = `data:text/javascript,export const ${names.map((name) => `${name} = undefined`).join(', ')}`
      return { url, format: 'module', shortCircuit: true }
    },
  })
  try {
    return (await import('@kubernetes/client-node/dist/config.js')).KubeConfig
  } finally {
    withoutClients.deregister()
  }
}

/** Returns why a kubeconfig cannot be read. Leaves out the message of the parser, which quotes the file and its credentials. */
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
    throw new Error('no API server is configured: set KUBECONFIG, or run in a pod with a service account')
  }
  if (!URL.canParse(cluster.server)) throw new Error('the server in the kubeconfig is not a URL')
  if (cluster.server.startsWith('http:') && !cluster.skipTLSVerify) {
    throw new Error('the server in the kubeconfig does not use TLS: credentials are not sent to it')
  }
  return cluster.server.replace(/\/+$/, '')
}

async function authorize(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions & { headers: Record<string, string>; agent?: Agent } = { headers: {} }
  await config.applyToHTTPSOptions(options)
  // The agent of client-node keeps no connection alive and never reloads its certificates. But only it can use a proxy.
  if (config.getCurrentCluster()?.proxyUrl === undefined) delete options.agent
  return options
}
