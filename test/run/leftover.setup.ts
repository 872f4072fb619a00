/**
 * Fails a test file that leaves something behind: temporary files, processes, or topics on the shared Kafka. Each file has its own folder
 * for temporary files, which is always removed at its end.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, inject } from 'vitest'
import { ROOT } from '../architecture/source-tree.ts'
import { processesWith, processOf } from '../soak/process-tree.ts'
import { leftOnRunServers } from '../topology/run-server.ts'
import { recordTime } from './time-report.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    project: string
  }
}

/** Killed processes take a moment to disappear. */
const LOOKS_MAX = 100
const LOOK_EVERY_MS = 50

const folder = mkdtempSync(join(tmpdir(), 'platen-file-'))
process.env['TMPDIR'] = folder

// The hook registered first runs last, so this one runs after all hooks of the file.
afterAll(async () => {
  const processes = await leftProcesses()
  const cpuMs = (processOf(process.pid)?.spent ?? 0) * 1000
  recordTime({ kind: 'cpu', project: inject('project'), file: relative(ROOT, fileOfTests()), cpuMs })
  const files = readdirSync(folder)
  for (const { pid } of processes) process.kill(pid, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  const left = [...processes.map(({ command }) => command), ...files, ...(await leftOnRunServers())]
  if (left.length > 0) throw new Error(`the file has left behind: ${left.join(', ')}`)
})

function fileOfTests(): string {
  return expect.getState().testPath ?? ''
}

async function leftProcesses() {
  for (let looks = 0; ; looks++) {
    const left = processesWith(folder)
    if (left.length === 0 || looks === LOOKS_MAX) return left
    await sleep(LOOK_EVERY_MS)
  }
}
