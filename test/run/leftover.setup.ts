/**
 * What a test file leaves behind fails it: temporary files, processes, and topics on the Kafka of the run. Each file has a folder of its
 * own for temporary files, which is removed at its end in any case.
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

/** A group of processes that was killed takes a moment to go. */
const LOOKS_MAX = 100
const LOOK_EVERY_MS = 50

const folder = mkdtempSync(join(tmpdir(), 'platen-file-'))
process.env['TMPDIR'] = folder

// Hooks end in the opposite order of their beginning, so this one comes after all of the file.
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
