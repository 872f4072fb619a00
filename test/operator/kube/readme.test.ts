/** The commands of the README's section on Kubernetes, as its readers would type them, against what `make kube` starts. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { expect, test } from 'vitest'
import { ROOT, readText } from '../../architecture/source-tree.ts'
import { startMade } from '../../topology/cluster/made.ts'
import { inspectPdf } from '../../topology/oracle.ts'
import { findBinary, hasServer } from '../../topology/server/binary.ts'

const run = promisify(execFile)

/** Of the two commands before the others the first is run by the test, and the second is what it says. */
const [, make = '', exported = '', commands = ''] =
  /^## On Kubernetes\n[^]*?^```sh\n(make kube .*)\n(export KUBECONFIG=.*)\n([^]*?)^```$/m.exec(readText('README.md')) ??
  []

test.skipIf(!hasServer('kafka'))(
  'from an empty Kubernetes to a tenant that renders, is limited, suspended, given another key, and deleted',
  { timeout: 300_000 },
  async ({ signal }) => {
    expect([make, exported]).not.toContain('')
    const chromium = await findChromium({ configured: process.env['PLATEN_CHROMIUM'] })
    const folder = await mkdtemp(join(tmpdir(), 'platen-readme-'))
    try {
      await using made = await startMade({ what: 'kube', folder }, signal)
      const { child, port, lines, exited, left } = made
      await symlink(join(ROOT, 'examples'), join(folder, 'examples'))
      const printed = lines.filter((line) => line.startsWith('export '))
      const script = ['set -eo pipefail', ...printed, commands.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)]
      // Where tests find it, the reader does too, or is told.
      const tools = dirname(findBinary('kubectl', process.env)?.path ?? '')
      const env = { ...process.env, HOME: folder, PATH: [process.env['PATH'], tools].join(delimiter) }
      const { stdout } = await run('bash', ['-c', script.join('\n')], { cwd: folder, env, signal })
      const answers = stdout.match(/^\d{3}$/gm)
      const promised = Array.from(commands.matchAll(/ # (\d{3})\b/g), ([, status]) => status)
      const html = chromium === undefined ? '503' : '200'
      expect(promised).toEqual(['200', '200', '202', '429', '402', '200', '200', '401'])
      expect(answers).toEqual(promised.with(1, html))
      for (const name of chromium === undefined ? ['invoice'] : ['invoice', 'printed']) {
        const { text, fonts } = await inspectPdf(await readFile(join(folder, `out/${name}.pdf`)))
        expect(text).toContain('Invoice')
        expect(fonts.every((font) => font.isEmbedded)).toBe(true)
      }
      child.kill('SIGTERM')
      expect(await exited).toBe(0)
      expect(await left()).toEqual([])
      // What kubectl remembers, what the reader has, and what came of it.
      expect((await readdir(folder)).toSorted()).toEqual(['.kube', 'examples', 'out'])
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    }
  },
)
