import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { RequestContext } from '@kubernetes/client-node'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openClusterClient } from '@platen/operator/cluster/client.ts'
import { clusterOf, loadKubeConfig, namespaceOf } from '@platen/operator/cluster/kubeconfig.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { NEVER, rejectionOf } from '../../fixture/build.ts'
import { aFolder } from '../../fixture/lifetime.ts'
import { listening } from '../../topology/server/port.ts'
import { NOTES } from './scripted-api.ts'

const TOKEN = 'do-not-repeat-me'

let folder: string
let file: string
beforeEach(() => {
  folder = aFolder()
  file = join(folder, 'kubeconfig')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

function written(cluster: object, user: object = { token: TOKEN }, context: object = {}): Promise<void> {
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', ...context } }],
    'current-context': 'x',
  }
  return writeFile(file, JSON.stringify(config))
}

test('a kubeconfig says where the API server is, and with what to ask it', async () => {
  await written({ server: 'https://api.example.test:6443/base/', 'tls-server-name': 'kube' })
  const config = loadKubeConfig(file)
  expect(clusterOf(config)).toMatchObject({ server: 'https://api.example.test:6443/base', tlsServerName: 'kube' })
  const request = new RequestContext('https://api.example.test:6443/base/api', 'GET')
  await config.applySecurityAuthentication(request)
  expect(request.getHeaders()).toEqual({ Authorization: `Bearer ${TOKEN}` })
})

test('the namespace of the operator is that of the context, and platen if it names none', async () => {
  const cluster = { server: 'https://api.example.test' }
  await written(cluster, undefined, { namespace: 'documents' })
  expect(namespaceOf(loadKubeConfig(file))).toBe('documents')
  await written(cluster)
  expect(namespaceOf(loadKubeConfig(file))).toBe('platen')
})

test('a proxy is gone through', async () => {
  const asked: (string | undefined)[] = []
  const server = createServer()
  server.on('connect', ({ url }, socket) => {
    asked.push(url)
    socket.destroy()
  })
  await using proxy = await listening(server)
  await written({ server: 'https://api.example.test', 'proxy-url': proxy.url })
  const [clock, meter] = [systemClock(), { requested: () => undefined }]
  using client = openClusterClient({ config: loadKubeConfig(file), clock, meter })
  await rejectionOf(client.readLease({ namespace: 'team', name: 'a' }, NEVER))
  const watching = client.watch(NOTES, { resourceVersion: '1', timeoutSeconds: 10 }, NEVER)
  await rejectionOf(Array.fromAsync(watching))
  expect(asked).toEqual(['api.example.test:443', 'api.example.test:443'])
})

describe('it is refused', () => {
  test('without anything that says where the API server is, rather than to ask whoever is on localhost', async () => {
    vi.stubEnv('KUBECONFIG', '')
    vi.stubEnv('HOME', folder)
    expect(() => loadKubeConfig()).toThrow('no API server is configured: set KUBECONFIG, or run in a pod')
  })

  test.for<[string, object]>([
    ['does not use TLS', { server: 'http://api.example.test' }],
    ['is not a URL', { server: 'api' }],
  ])('a server that %s', async ([why, cluster]) => {
    await written(cluster)
    expect(() => loadKubeConfig(file)).toThrow(`the server in the kubeconfig ${why}`)
  })

  test.for([
    ['there is none', undefined, 'ENOENT'],
    ['is no YAML', `users: [{token: ${TOKEN}`, 'it is not a kubeconfig'],
    ['is none', 'null', 'it is not a kubeconfig'],
    ['has no context', '{}', 'no current context'],
  ])('a kubeconfig that %s, without a word of what is in it', async ([, content, why]) => {
    if (content !== undefined) await writeFile(file, content)
    const error = await rejectionOf(Promise.try(loadKubeConfig, file))
    expect(error).toMatchObject({ message: expect.stringContaining(why ?? '') })
    expect(String(error)).not.toContain(TOKEN)
  })
})
