import type { RenderEngine, RenderWork } from '../port/engine.ts'
import { NO_REMOTE_FILES, type RemoteFiles } from './remote-files.ts'
import type { ThreadPool } from './thread-pool.ts'

interface ReactPdfEngineSettings {
  readonly pool: ThreadPool
  /** At most the pool's size. */
  readonly slots: number
  /** Absent means that nothing is fetched. */
  readonly remote?: RemoteFiles
}

/** The caller still closes the pool. */
export function openReactPdfEngine({ pool, slots, remote = NO_REMOTE_FILES }: ReactPdfEngineSettings): RenderEngine {
  return {
    name: 'react_pdf',
    slots,
    state: () => pool.state(),
    ready: (signal) => pool.ready(signal),
    render: ({ onConsole, ...work }, signal) => {
      const isConsoleKept = onConsole !== undefined
      const nextRun = onConsole === undefined ? () => undefined : withoutRepeats(onConsole)
      return remote.runWithFiles(
        work,
        (each) => pool.run({ kind: 'react_pdf', work: each, isConsoleKept }, signal, nextRun()),
        signal,
      )
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** Returns a new receiver for each run of the same document. A run with more files repeats the lines of the one before. */
function withoutRepeats(onConsole: NonNullable<RenderWork['onConsole']>): () => NonNullable<RenderWork['onConsole']> {
  let passed = 0
  return () => {
    let lines = 0
    return (line) => {
      lines += 1
      if (lines <= passed) return
      passed = lines
      onConsole(line)
    }
  }
}
