/** The lanes of a test run: what runs in them, and how many files of each at once. */

export interface Lane {
  /** Projects of `vitest.config.ts`. */
  readonly projects: readonly string[]
  /** Parts of the paths of files; all files if absent. */
  readonly files?: readonly string[]
  /** What the names of tests match; all tests if absent. */
  readonly names?: RegExp
  /** Only files that reach what differs from this commit. */
  readonly changed?: string
}

/** All projects, those that take longest first: so the lanes end at about the same time. */
export const PROJECTS: readonly string[] = [
  'engine',
  'operator',
  'chaos',
  'cluster',
  'conformance',
  'scenario-on-cluster',
  'scenario',
  'chart',
  'unit',
  'lease',
]

/** Those that need what takes minutes to build, the Kubernetes API server above all. */
export const ON_KUBERNETES: readonly string[] = ['operator', 'chart', 'lease']

/** How many projects run beside each other: half of them wait most of the time, for leases, sessions and deadlines. */
export const LANES = 3

/** What a change most likely breaks: what it reaches itself, adapters that need no server, a document of each engine, and a scenario. */
export const QUICK_LANES: readonly Lane[] = [
  { projects: ['unit'], changed: 'main' },
  { projects: ['conformance'] },
  {
    projects: ['engine', 'scenario'],
    files: ['test/engine/html/document', 'test/engine/react-pdf/document', 'test/scenario/render'],
    names: /every row of a long|comes out as its author wrote it|keeps an async render/,
  },
]
