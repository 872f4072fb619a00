/** The lanes of a test run: which projects take CPU and which mostly wait, and how many files of each run at once. */

export interface Lane {
  /** Projects of `vitest.config.ts`. */
  readonly projects: readonly string[]
  /** Files at once for each core. */
  readonly share: number
  /** Parts of the paths of files; all files if absent. */
  readonly files?: readonly string[]
  /** What the names of tests match; all tests if absent. */
  readonly names?: RegExp
  /** Only files that reach what differs from this commit. */
  readonly changed?: string
}

/** All tests. */
export const LANES = {
  cpu: { projects: ['unit', 'engine', 'scenario'], share: 0.5 },
  wait: { projects: ['conformance', 'scenario-on-cluster', 'cluster', 'chaos'], share: 0.5 },
  kubernetes: { projects: ['operator', 'chart', 'lease'], share: 0.5 },
} as const satisfies Readonly<Record<string, Lane>>

/** What a change most likely breaks: what it reaches itself, adapters that need no server, a document of each engine, and a scenario. */
export const QUICK_LANES: readonly Lane[] = [
  { projects: ['unit'], share: 0.5, changed: 'main' },
  { projects: ['conformance'], share: 0.5 },
  {
    projects: ['engine', 'scenario'],
    share: 0.5,
    files: ['test/engine/html/document', 'test/engine/react-pdf/document', 'test/scenario/render'],
    names: /every row of a long|comes out as its author wrote it|keeps an async render/,
  },
]
