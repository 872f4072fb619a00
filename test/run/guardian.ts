/**
 * Ends what a test run has started when the run itself is gone, however it went: Ctrl-C and SIGKILL leave no process and no file.
 * It is a process of its own that waits for the end of its standard input, whose other end only the run holds.
 */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { processesWith } from '../soak/process-tree.ts'

/** Marks every process of a run, by an environment variable that they hand on. */
export const RUN_VARIABLE = 'TEST_RUN_ID'

const LOOK_EVERY_MS = 100
const LOOKS_MAX = 300

/** Starts the guardian of the run that this process is. `folder` is removed with the run. */
export function startGuardian(run: string, folder: string): void {
  const child = spawn(process.execPath, [import.meta.filename, run, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
    // Else it would be one of those that it ends.
    env: { ...process.env, [RUN_VARIABLE]: '' },
  })
  // This process does not stay for it.
  child.unref()
  if (child.stdin !== null && 'unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
}

/** Kills the processes of a run until none is left. Resolves to the commands of those it found first. */
export async function endRun(run: string, folder: string): Promise<readonly string[]> {
  // Browsers inherit no variable of ours, but have their home below the folder.
  const processesOfRun = () => processesWith(`${RUN_VARIABLE}=${run}`, `=${folder}/`)
  const found = processesOfRun()
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const left = processesOfRun()
    if (left.length === 0) break
    for (const { pid } of left) kill(pid)
    await sleep(LOOK_EVERY_MS)
  }
  return found.map(({ command }) => command)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended since it was listed.
  }
}

if (import.meta.main) {
  const [, , run = '', folder = ''] = process.argv
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)
  for await (const _ of process.stdin);
  await endRun(run, folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}
