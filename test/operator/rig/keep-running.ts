/** What a kubelet does for operators: one that has ended, for example because it lost its lease, is started again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../topology/server/process.ts'

const LOOK_MS = 200

/** Starts those again that have ended, until it is disposed of. */
export function keepRunning(processes: readonly ServerProcess[]): AsyncDisposable {
  const over = new AbortController()
  const keep = async (process: ServerProcess) => {
    while (!over.signal.aborted) {
      // One that finds no API server in time ends, and is started once more.
      if (!process.isRunning()) await process.start().catch(() => undefined)
      await sleep(LOOK_MS)
    }
  }
  const kept = processes.map(keep)
  return {
    async [Symbol.asyncDispose]() {
      over.abort()
      await Promise.all(kept)
    },
  }
}
