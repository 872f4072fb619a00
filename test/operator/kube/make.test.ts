/** What `make kube` runs, as people have it: a Kubernetes with our kinds and none of our resources. The README's test ends it by SIGTERM. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startMade } from '../../topology/cluster/made.ts'
import { findBinary, hasServer } from '../../topology/server/binary.ts'
import { eventually } from '../../topology/service.ts'

const run = promisify(execFile)

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platen-make-'))
})
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))

// The operator's tests need none, but this is a whole cluster.
test.skipIf(!hasServer('kafka'))(
  'says how to reach an empty Kubernetes, serves by each API process, and leaves nothing behind when it is killed',
  { timeout: 300_000 },
  async ({ signal }) => {
    const path = findBinary('kubectl', process.env)?.path ?? ''
    // Named like this, it need not be on PATH.
    const settings = { PLATEN_CHROMIUM: 'none', PLATEN_TEST_KUBECTL: path }
    await using made = await startMade({ what: 'kube', folder, env: settings }, signal)
    const { child, port, lines, exited, left } = made
    expect(lines.slice(-3)).toEqual([
      `export PATH="$PATH:${dirname(path)}"`,
      expect.stringMatching(/^export KUBECONFIG=\/\S+$/),
      `ready http://127.0.0.1:${port}`,
    ])

    const env = { ...process.env, HOME: folder, KUBECONFIG: lines.at(-2)?.replace(/^.*=/, '') }
    const names = async (...what: readonly string[]) =>
      (await run(path, ['get', '--output=name', ...what], { env })).stdout.split('\n')
    expect(await names('platen', '--all-namespaces')).toEqual([''])
    expect(await names('serviceaccounts', '--namespace=platen')).toContain('serviceaccount/platen-operator')
    expect(await names('clusterroles')).toContain('clusterrole.rbac.authorization.k8s.io/platen-tenant-editor')
    for (const at of [port, port + 1]) {
      const answer = await fetch(`http://127.0.0.1:${at}/api/v1/templates`)
      expect(answer.status).toBe(401)
    }

    // etcd, the API server, three servers, two operators, two API processes, a renderer and webhooks, at the least.
    expect((await left()).length).toBeGreaterThanOrEqual(11)
    child.kill('SIGKILL')
    expect(await exited).toBeNull()
    expect(await eventually(left, (commands) => commands.length === 0)).toEqual([])
    const inFolder = async () => (await readdir(folder)).filter((name) => name !== '.kube')
    expect(await eventually(inFolder, (found) => found.length === 0)).toEqual([])
  },
)
