/** The react_pdf engine: TSX templates, laid out in render threads. */
import type { RenderEngine } from './engine.ts'
import type { ThreadPool } from './thread-pool.ts'

/** Opens the engine on a pool, which stays its opener's to close. `slots` is at most the pool's size. */
export function openReactPdfEngine({ pool, slots }: { pool: ThreadPool; slots: number }): RenderEngine {
  return {
    name: 'react_pdf',
    slots,
    state: () => pool.state(),
    ready: (signal) => pool.ready(signal),
    render: (work, signal) => pool.run({ kind: 'react_pdf', work }, signal),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
