/** What `make kube` runs, as people have it: a Kubernetes with our kinds and none of our resources, and nothing left behind. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startMade } from '../../topology/cluster/made.ts'
import { findBinary, hasServer } from '../../topology/server/binary.ts'
import { eventually } from '../../topology/service.ts'

const run = promisify(execFile)

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platen-make-'))
})
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))

const start = (signal: AbortSignal, env: Readonly<Record<string, string>> = {}) =>
  startMade({ what: 'kube', folder, env: { PLATEN_CHROMIUM: 'none', ...env } }, signal)

// The operator's tests need none, but this is a whole cluster.
describe.skipIf(!hasServer('kafka'))('make kube', { timeout: 300_000 }, () => {
  test('says how to reach an empty Kubernetes, serves by each API process, and leaves nothing behind', async ({
    signal,
  }) => {
    const { child, port, lines, exited, left } = await start(signal)
    expect(lines.slice(-2)).toEqual([
      expect.stringMatching(/^export KUBECONFIG=\/\S+$/),
      `ready http://127.0.0.1:${port}`,
    ])
    const env = { ...process.env, HOME: folder, KUBECONFIG: lines.at(-2)?.replace(/^.*=/, '') }
    const kubectl = async (...args: readonly string[]) =>
      (await run(findBinary('kubectl', process.env)?.path ?? '', args, { env })).stdout
    expect(await kubectl('get', 'platen', '--all-namespaces', '--output=name')).toBe('')
    expect(await kubectl('get', 'serviceaccounts', '--namespace=platen', '--output=name')).toBe(
      'serviceaccount/platen-operator\n',
    )
    const roles = await kubectl('get', 'clusterroles', '--output=name')
    expect(roles).toContain('clusterrole.rbac.authorization.k8s.io/platen-tenant-editor')
    for (const at of [port, port + 1]) {
      const answer = await fetch(`http://127.0.0.1:${at}/api/v1/templates`)
      expect(answer.status).toBe(401)
    }
    // etcd, the API server, three servers, two operators, two API processes, a renderer and webhooks, at the least.
    expect((await left()).length).toBeGreaterThanOrEqual(11)
    // What kubectl remembers.
    await rm(join(folder, '.kube'), { recursive: true, force: true })
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
    expect(await left()).toEqual([])
    expect(await readdir(folder)).toEqual([])
  })

  test('leaves nothing behind when it is killed itself, and says where kubectl is that nobody would find', async ({
    signal,
  }) => {
    const kubectl = findBinary('kubectl', process.env)?.path ?? ''
    const { child, lines, exited, left } = await start(signal, { PLATEN_TEST_KUBECTL: kubectl })
    expect(lines).toContain(`export PATH="$PATH:${dirname(kubectl)}"`)
    child.kill('SIGKILL')
    expect(await exited).toBeNull()
    expect(await eventually(left, (commands) => commands.length === 0)).toEqual([])
    const names = await eventually(
      () => readdir(folder),
      (found) => found.length === 0,
    )
    expect(names).toEqual([])
  })
})
