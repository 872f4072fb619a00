/** Runs the commands of the README's section on Kubernetes on a real node, as readers would type them. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { ROOT } from '../architecture/source-tree.ts'
import { COMMANDS, FORWARD, INSTALL, STATUSES } from '../operator/kube/readme.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { binaryOf } from '../topology/server/binary.ts'
import { type Installed, installed } from './installed.ts'
import { NAMESPACE, RELEASE } from './release.ts'

const run = promisify(execFile)

let node: Installed['node']
beforeAll(async () => {
  ;({ node } = await installed())
})

test('they lead to a tenant that renders, is limited, suspended, given another key, and deleted', async ({
  signal,
}) => {
  // Values and Secrets differ here: they belong to this machine.
  expect(INSTALL).toBe(`helm install ${RELEASE} charts/platen --namespace ${NAMESPACE} --values values.yaml`)
  const folder = await mkdtemp(join(tmpdir(), 'platen-readme-'))
  await symlink(join(ROOT, 'examples'), join(folder, 'examples'))
  const env = {
    ...process.env,
    HOME: folder,
    KUBECONFIG: await node.kube.kubeconfig('admin'),
    PATH: [process.env['PATH'], dirname(binaryOf('kubectl'))].join(delimiter),
  }
  const forward = spawn('bash', ['-c', `exec ${FORWARD}`], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await once(forward.stdout, 'data')
    const { stdout } = await run('bash', ['-c', `set -eo pipefail\n${COMMANDS}`], { cwd: folder, env, signal })
    expect(stdout.match(/^\d{3}$/gm)).toEqual(STATUSES)
  } finally {
    forward.kill()
  }
  for (const name of ['invoice', 'printed']) {
    const { text } = await inspectPdf(await readFile(join(folder, `out/${name}.pdf`)))
    expect(text).toContain('Invoice')
  }
})
