import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadAccess } from '@platen/operator/cluster/access.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { aFolder } from '../../fixture/lifetime.ts'

const TOKEN = 'do-not-repeat-me'

/** Prints what is loaded to get at a cluster. */
const SEES_LOADED = `
import { registerHooks } from 'node:module'
registerHooks({ load: (url, context, nextLoad) => (console.log(url), nextLoad(url, context)) })
const [access, file] = process.argv.slice(1)
await (await import(access)).loadAccess(file)`

let folder: string
let file: string
beforeEach(() => {
  folder = aFolder()
  file = join(folder, 'kubeconfig')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

function written(cluster: object, user: object = { token: TOKEN }): Promise<void> {
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  return writeFile(file, JSON.stringify(config))
}

test('a kubeconfig says where the API server is, and with what to ask it', async () => {
  await written({ server: 'https://api.example.test:6443/base/', 'tls-server-name': 'kube' })
  const access = await loadAccess(file)
  expect(access.server).toBe('https://api.example.test:6443/base')
  const request = await access.authorize()
  expect(request).toMatchObject({ headers: { Authorization: `Bearer ${TOKEN}` }, servername: 'kube' })
  expect(request.agent).toBeUndefined()
})

test('the clients and models of client-node, and their HTTP client, are not loaded for it', async () => {
  await written({ server: 'https://api.example.test' })
  const access = import.meta.resolve('@platen/operator/cluster/access.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    SEES_LOADED,
    access,
    file,
  ])
  const loaded = stdout.split('\n')
  const kubeconfig = loaded.filter((url) => url.includes('/client-node/'))
  expect(kubeconfig.find((url) => url.endsWith('/dist/config.js'))).toBeDefined()
  expect(kubeconfig.filter((url) => url.includes('/models/') || url.endsWith('/gen/index.js'))).toEqual([])
  expect(loaded.filter((url) => url.includes('/undici/'))).toEqual([])
})

test('a proxy is gone through', async () => {
  await written({ server: 'https://api.example.test', 'proxy-url': 'http://127.0.0.1:1' })
  expect((await (await loadAccess(file)).authorize()).agent).toBeDefined()
})

describe('it is refused', () => {
  test('without anything that says where the API server is, rather than to ask whoever is on localhost', async () => {
    vi.stubEnv('KUBECONFIG', '')
    vi.stubEnv('HOME', folder)
    await expect(loadAccess()).rejects.toThrow('no API server is configured: set KUBECONFIG, or run in a pod')
  })

  test.for<[string, object]>([
    ['does not use TLS', { server: 'http://api.example.test' }],
    ['is not a URL', { server: 'api' }],
  ])('a server that %s', async ([why, cluster]) => {
    await written(cluster)
    await expect(loadAccess(file)).rejects.toThrow(`the server in the kubeconfig ${why}`)
  })

  test.for([
    ['there is none', undefined, 'ENOENT'],
    ['is no YAML', `users: [{token: ${TOKEN}`, 'it is not a kubeconfig'],
    ['is none', 'null', 'it is not a kubeconfig'],
    ['has no context', '{}', 'no current context'],
  ])('a kubeconfig that %s, without a word of what is in it', async ([, content, why]) => {
    if (content !== undefined) await writeFile(file, content)
    const error: unknown = await loadAccess(file).catch((error: unknown) => error)
    expect(error).toMatchObject({ message: expect.stringContaining(why ?? '') })
    expect(String(error)).not.toContain(TOKEN)
  })
})
