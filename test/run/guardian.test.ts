/** Tests that nothing of a test run outlives it, however it ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { processesWith } from '../soak/process-tree.ts'
import { poll } from '../time/poll.ts'
import { endRun, RUN_VARIABLE } from './guardian.ts'

/** A run that starts two processes in their own groups, prints that, and waits. */
const RUN = `
  import { spawn } from 'node:child_process'
  import { startGuardian } from ${JSON.stringify(join(import.meta.dirname, 'guardian.ts'))}
  const [run, folder] = process.argv.slice(1)
  startGuardian(run, folder)
  process.env[${JSON.stringify(RUN_VARIABLE)}] = run
  const apart = { detached: true, stdio: 'ignore' }
  spawn('sleep', ['600'], apart)
  // As a browser, which inherits nothing.
  spawn('sleep', ['601'], { ...apart, env: { HOME: folder + '/profile' } }).once('spawn', () => console.log('started'))
  setInterval(() => undefined, 1000)`

test.for(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
  'a run that is ended by %s leaves no process and no file',
  async (signal) => {
    const folder = await mkdtemp(join(tmpdir(), 'platen-guarded-'))
    await writeFile(join(folder, 'left.txt'), 'left')
    const run = `run-${signal}-${process.pid}`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', RUN, run, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    await once(createInterface(child.stdout), 'line')
    const running = () => processesWith(`${RUN_VARIABLE}=${run}`, `=${folder}/`)
    expect(running().map(({ command }) => command.trim())).toEqual(['sleep 600', 'sleep 601'])
    child.kill(signal)
    await exited
    const left = async () => ({ processes: running().length, hasFolder: existsSync(folder) })
    const isGone = ({ processes, hasFolder }: Awaited<ReturnType<typeof left>>) => processes === 0 && !hasFolder
    expect(await poll(left).until(isGone)).toEqual({ processes: 0, hasFolder: false })
  },
)

test('what a run has left when it ends is named', async () => {
  const run = `run-ending-${process.pid}`
  spawn('sleep', ['600'], { detached: true, stdio: 'ignore', env: { ...process.env, [RUN_VARIABLE]: run } })
  await poll(() => processesWith(`${RUN_VARIABLE}=${run}`).length).until((count) => count === 1)
  expect((await endRun(run, join(tmpdir(), run))).map((command) => command.trim())).toEqual(['sleep 600'])
  expect(processesWith(`${RUN_VARIABLE}=${run}`)).toEqual([])
})
