/**
 * How long an author waits: from the save of the example invoice to its PDF, as `platen preview --watch` prints it.
 * `node test/bench/preview.ts` writes one line for each engine.
 */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ENGINES } from '@platen/contract/render-options.ts'
import { makeFolder, ROOT } from '../cli/command.ts'

const SAVES = 20

if (import.meta.main) for (const engine of ENGINES) process.stdout.write(await measure(engine))

async function measure(engine: string): Promise<string> {
  await using folder = await makeFolder()
  await cp(join(ROOT, 'examples'), folder.path, { recursive: true })
  const file = join(folder.path, 'invoice.yaml')
  const source = await readFile(file, 'utf8')
  const command = folder.follow('preview', '.', 'invoice', '--engine', engine, '--watch')
  const begunAt = performance.now()
  await command.printed(/^watching/)
  const first = performance.now() - begunAt
  const waits: number[] = []
  for (let save = 1; save <= SAVES; save++) {
    const savedAt = performance.now()
    // In both sources, so that each render is of a template never seen before.
    await writeFile(file, source.replaceAll('accent', `accent${save}`))
    await command.printed(/^invoice\.pdf: /)
    waits.push(performance.now() - savedAt)
  }
  await command.end('SIGINT')
  waits.sort((one, other) => one - other)
  const [p50, p95] = [0.5, 0.95].map((part) => Math.round(waits[Math.ceil(waits.length * part) - 1] ?? 0))
  return `${engine}: ${SAVES} saves, p50 ${p50} ms, p95 ${p95} ms; the first PDF after ${Math.round(first)} ms\n`
}
