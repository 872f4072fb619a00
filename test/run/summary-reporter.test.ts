/** Tests the last lines of a run, for readers who see only those. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from '../architecture/source-tree.ts'

/** Readers see the last fifty lines of a long run. `make` adds two of them. */
const LAST_LINES = 50 - 2

/** A run whose clock goes back an hour each time it is read. `end` ends it after its first test. */
const RUN = `
  import { startVitest } from 'vitest/node'
  import { SummaryReporter } from ${JSON.stringify(join(import.meta.dirname, 'summary-reporter.ts'))}
  const now = Date.now
  let looks = 0
  Date.now = () => now() - ++looks * 3_600_000
  const [root, end] = process.argv.slice(1)
  const reporter = new SummaryReporter({ tellsFiles: true })
  let vitest
  const ending = {
    onInit: (started) => { vitest = started },
    onTestCaseResult() {
      if (vitest.isCancelling) return
      reporter.stop('the run was interrupted')
      vitest.cancelCurrentRun('keyboard-input')
    },
  }
  if (end === undefined) reporter.fail('a shared server ended by itself')
  const reporters = end === undefined ? [reporter] : [reporter, ending]
  vitest = await startVitest('test', [], { root, config: false, watch: false, reporters })
  await vitest.close()`

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platen-summary-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rm(folder, { recursive: true }))

test('of many failures the last fifty lines have forty with their reasons, and the seed', async () => {
  const { code, lines } = await runOf(
    `test.for(Array.from({ length: 60 }, (_, at) => at))('fails as number %i', (at) => { throw new Error('the reason ' + at) })
     test('passes', () => undefined)
     test('finds no room', () => { throw new Error('ENOSPC: no space left on device, write') })`,
  )
  expect(code).toBe('code 1')
  const last = lines.slice(-LAST_LINES)
  const failures = Array.from({ length: 60 }, (_, at) => failed(`fails as number ${at}`, `the reason ${at}`))
  expect(last.slice(-44)).toEqual([
    'FAILED: a shared server ended by itself',
    ...failures.slice(0, 39),
    'and 22 more, which are above the times',
    `a disk was full; temporary files were below ${tmpdir()}, and TMPDIR names another folder`,
    'SEED=7 makes the choices of this run again',
    '1 passed, 62 failed',
  ])
  for (const failure of failures) expect(lines).toContain(failure)
})

test('a pipe that takes less at once gets all of it', async () => {
  const { lines } = await runOf(
    `test.for(Array.from({ length: 60 }, (_, at) => at))('fails as number %i', () => { throw new Error('a'.repeat(4000)) })`,
  )
  expect(lines.filter((line) => line.startsWith('FAILED: ')).length).toBe(61)
  expect(lines.at(-1)).toBe('0 passed, 61 failed')
})

test('what a run had not come to when it was ended is no failure', async () => {
  const { code, lines } = await runOf(
    `test('fails', () => { throw new Error('the reason') })
     test('never ends', () => new Promise(() => undefined), 0)
     test.skip('is never tried', () => undefined)`,
    ['after the first test'],
  )
  expect(code).toBe('code 1')
  expect(lines.slice(-4)).toEqual([
    'FAILED: the run was interrupted',
    failed('fails', 'the reason'),
    'SEED=7 makes the choices of this run again',
    '0 passed, 2 failed, 2 skipped',
  ])
})

test('a clock that jumps changes no time', async () => {
  const { lines } = await runOf(`test('passes', () => undefined)`)
  const times = lines.flatMap((line) => [...line.matchAll(/(-?[\d.]+) s\b/g)].map(([, seconds]) => Number(seconds)))
  expect(times.length).toBeGreaterThan(3)
  for (const seconds of times) expect([seconds >= 0, seconds < 3000]).toEqual([true, true])
})

function failed(name: string, reason: string): string {
  return `FAILED: tried.test.ts > ${name}: ${reason}`
}

/** Runs these tests. Returns the exit code and the lines, read through a shell pipe as `make` and CI do. */
async function runOf(
  tests: string,
  end: readonly string[] = [],
): Promise<{ readonly code: string | undefined; readonly lines: readonly string[] }> {
  await writeFile(join(folder, 'tried.test.ts'), `import { test } from 'vitest'\n${tests}\n`)
  const piped = ['-c', '{ "$@"; echo "code $?"; } | cat', 'run', process.execPath, '--input-type=module', '--eval', RUN]
  const child = spawn('sh', [...piped, folder, ...end], {
    cwd: ROOT,
    env: { ...process.env, SEED: '7' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = (await text(child.stdout)).trimEnd().split('\n')
  return { code: lines.pop(), lines }
}
