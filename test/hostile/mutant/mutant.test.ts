/** That the tests of defences can fail: each on the source that is without its defence. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ROOT } from '../../architecture/source-tree.ts'
import { UNIT_MUTANTS } from './table.ts'

/** What of Vitest's answer is looked at. */
interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[]
  }[]
}

let report: Report
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'platen-mutants-'))
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  const file = join(folder, 'report.json')
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const args = [
    'run',
    '--config',
    join(import.meta.dirname, 'vitest.config.ts'),
    '--reporter=json',
    `--outputFile=${file}`,
  ]
  // By these it would take itself for a worker of ours.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
  const { promise, resolve } = Promise.withResolvers<void>()
  // It exits with 1, as tests fail.
  execFile(process.execPath, [vitest, ...args], { cwd: ROOT, env }, () => resolve())
  await promise
  report = JSON.parse(await readFile(file, 'utf8'))
})

test.for(UNIT_MUTANTS.map((mutant) => [mutant.name, mutant] as const))('a service that %s is seen', ([, mutant]) => {
  const found = report.testResults
    .filter(({ name }) => name.endsWith(mutant.in))
    .flatMap(({ assertionResults }) => assertionResults.filter(({ title }) => title === mutant.test))
  expect(found.map(({ status }) => status)).toEqual(['failed'])
})
