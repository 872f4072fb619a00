/** The react_pdf engine: lays out TSX templates in render threads. */
import type { RenderEngine } from '../port/engine.ts'
import { NO_REMOTE_FILES, type RemoteFiles } from './remote-files.ts'
import type { ThreadPool } from './thread-pool.ts'

export interface ReactPdfEngineSettings {
  readonly pool: ThreadPool
  /** At most the pool's size. */
  readonly slots: number
  /** Absent means that nothing is fetched. */
  readonly remote?: RemoteFiles
}

/** Opens the engine on a pool. The caller still closes the pool. */
export function openReactPdfEngine({ pool, slots, remote = NO_REMOTE_FILES }: ReactPdfEngineSettings): RenderEngine {
  return {
    name: 'react_pdf',
    slots,
    state: () => pool.state(),
    ready: (signal) => pool.ready(signal),
    render: (work, signal) =>
      remote.runWithFiles(work, (each) => pool.run({ kind: 'react_pdf', work: each }, signal), signal),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
