/** Prometheus' own tool for rules, on files that are made for it. */
import { execFile } from 'node:child_process'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { binaryOf } from '../topology/server/binary.ts'

export interface Verdict {
  readonly isGood: boolean
  readonly output: string
}

/** `check` takes rules, and `test` unit tests of rules; both are written as JSON, which is YAML. */
export async function promtool(command: 'check' | 'test', content: unknown): Promise<Verdict> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'platen-rules-'))
  const file = join(folder.path, 'rules.yaml')
  await writeFile(file, JSON.stringify(content))
  const { promise, resolve } = Promise.withResolvers<Verdict>()
  execFile(binaryOf('promtool'), [command, 'rules', file], { maxBuffer: 1e8 }, (error, stdout, stderr) =>
    resolve({ isGood: error === null, output: `${stdout}${stderr}` }),
  )
  return await promise
}
