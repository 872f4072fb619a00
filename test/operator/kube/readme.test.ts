/** What `make kube` starts, and the commands of the README's section on Kubernetes against it, as its readers would type them. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../../architecture/source-tree.ts'
import { type Made, startMade } from '../../topology/cluster/made.ts'
import { inspectPdf } from '../../topology/oracle.ts'
import { findBinary, hasServer } from '../../topology/server/binary.ts'
import { COMMANDS, STATUSES, TAKE_AWAY } from './readme.ts'

const run = promisify(execFile)
const LIMIT = { timeout: 300_000 }

// The operator's tests need none, but this is a whole cluster.
describe.skipIf(!hasServer('kafka'))('make kube', () => {
  const stack = new AsyncDisposableStack()
  let folder: string
  let made: Made
  let kubectl: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'platen-readme-'))
    stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
    kubectl = findBinary('kubectl', process.env)?.path ?? ''
    const over = new AbortController()
    stack.defer(() => over.abort())
    // Named like this, it need not be on PATH.
    made = stack.use(await startMade({ what: 'kube', folder, env: { PLATEN_TEST_KUBECTL: kubectl } }, over.signal))
  }, LIMIT.timeout)
  afterAll(() => stack.disposeAsync())

  test('says how to reach an empty Kubernetes, and serves by each API process', LIMIT, async () => {
    const { port, lines, left } = made
    expect(lines.slice(-3)).toEqual([
      `export PATH="$PATH:${dirname(kubectl)}"`,
      expect.stringMatching(/^export KUBECONFIG=\/\S+$/),
      `ready http://127.0.0.1:${port}`,
    ])
    const env = { ...process.env, HOME: folder, KUBECONFIG: lines.at(-2)?.replace(/^.*=/, '') }
    const names = async (...what: readonly string[]) =>
      (await run(kubectl, ['get', '--output=name', ...what], { env })).stdout.split('\n')
    expect(await names('platen', '--all-namespaces')).toEqual([''])
    expect(await names('serviceaccounts', '--namespace=platen')).toContain('serviceaccount/platen-operator')
    expect(await names('clusterroles')).toContain('clusterrole.rbac.authorization.k8s.io/platen-tenant-editor')
    for (const at of [port, port + 1]) {
      const answer = await fetch(`http://127.0.0.1:${at}/api/v1/templates`)
      expect(answer.status).toBe(401)
    }
    // etcd, the API server, three servers, two operators, two API processes, a renderer and events, at the least.
    expect((await left()).length).toBeGreaterThanOrEqual(11)
  })

  test(
    'from an empty Kubernetes to a tenant that renders, is limited, suspended, given another key, and deleted',
    LIMIT,
    async ({ signal }) => {
      const chromium = await findChromium({ configured: process.env['PLATEN_CHROMIUM'] })
      const { child, port, lines, exited, left } = made
      await symlink(join(ROOT, 'examples'), join(folder, 'examples'))
      const printed = lines.filter((line) => line.startsWith('export '))
      const script = ['set -eo pipefail', ...printed, COMMANDS.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)]
      // Where tests find it, the reader does too, or is told.
      const env = { ...process.env, HOME: folder, PATH: [process.env['PATH'], dirname(kubectl)].join(delimiter) }
      const { stdout } = await run('bash', ['-c', script.join('\n')], { cwd: folder, env, signal })
      const answers = stdout.match(/^\d{3}$/gm)
      expect(answers).toEqual(STATUSES.with(1, chromium === undefined ? '503' : '200'))
      for (const name of chromium === undefined ? ['invoice'] : ['invoice', 'printed']) {
        const { text, fonts } = await inspectPdf(await readFile(join(folder, `out/${name}.pdf`)))
        expect(text).toContain('Invoice')
        expect(fonts.every((font) => font.isEmbedded)).toBe(true)
      }
      const away = ['set -eo pipefail', ...printed, TAKE_AWAY].join('\n')
      await run('bash', ['-c', away], { cwd: ROOT, env, signal })
      expect(
        await remainders((args) => run(kubectl, args, { env: { ...env, KUBECONFIG: kubeconfigIn(printed) } })),
      ).toEqual([])
      child.kill('SIGTERM')
      expect(await exited).toBe(0)
      expect(await left()).toEqual([])
      // What kubectl remembers, what the reader has, and what came of it.
      expect((await readdir(folder)).toSorted()).toEqual(['.kube', 'examples', 'out'])
    },
  )
})

type Kubectl = (args: readonly string[]) => Promise<{ readonly stdout: string }>

/** What is called after Platen in Kubernetes, in any namespace, but the namespace itself, which only a controller empties. */
async function remainders(kubectl: Kubectl): Promise<readonly string[]> {
  const kinds = ['crds', 'clusterroles', 'clusterrolebindings', 'roles', 'rolebindings', 'serviceaccounts']
  const { stdout } = await kubectl(['get', kinds.join(), '--all-namespaces', '--output=name'])
  return stdout.split('\n').filter((name) => name.includes('platen'))
}

function kubeconfigIn(exports: readonly string[]): string {
  return exports.find((line) => line.includes('KUBECONFIG='))?.split('=')[1] ?? ''
}
