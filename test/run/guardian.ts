/**
 * Ends everything that a test run has started, after the run itself is gone. So Ctrl-C and SIGKILL leave no process and no file. The
 * guardian is a separate process that waits for the end of its standard input. Only the run holds the other end.
 */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { killIfThere, processesWith } from '../soak/process-tree.ts'

/** Marks every process of a run. Child processes inherit this environment variable. */
export const RUN_VARIABLE = 'TEST_RUN_ID'

const LOOK_EVERY_MS = 100
const LOOKS_MAX = 300

/** Starts the guardian of this process's run. The guardian removes `folder` with the run. */
export function startGuardian(run: string, folder: string): void {
  const child = spawn(process.execPath, [import.meta.filename, run, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
    // Without the mark; otherwise the guardian would end itself.
    env: { ...process.env, [RUN_VARIABLE]: '' },
  })
  // This process can exit while the guardian runs.
  child.unref()
  if (child.stdin !== null && 'unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
}

/** Kills the processes of a run until none is left. Resolves with the commands of those it found first. */
export async function endRun(run: string, folder: string): Promise<readonly string[]> {
  // Browsers do not inherit our variable, but their home is below the folder.
  const processesOfRun = () => processesWith(`${RUN_VARIABLE}=${run}`, `=${folder}/`)
  const found = processesOfRun()
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const left = processesOfRun()
    if (left.length === 0) break
    for (const { pid } of left) killIfThere(pid)
    await sleep(LOOK_EVERY_MS)
  }
  return found.map(({ command }) => command)
}

if (import.meta.main) {
  const [, , run = '', folder = ''] = process.argv
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)
  for await (const _ of process.stdin);
  await endRun(run, folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}
