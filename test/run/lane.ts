/** The lanes of a test run, and the projects that run in them. */

export interface Lane {
  /** Projects of `vitest.config.ts`. */
  readonly projects: readonly string[]
  /** Parts of file paths. Absent = all files. */
  readonly files?: readonly string[]
  /** Pattern for test names. Absent = all tests. */
  readonly names?: RegExp
  /** Runs only files that depend on a change since this commit. */
  readonly changed?: string
}

/** All projects, the longest first, so that the lanes end at about the same time. */
export const PROJECTS: readonly string[] = [
  'chaos',
  'service',
  'operator',
  'conformance',
  'cluster',
  'hostile',
  'engine',
  'scenario-on-cluster',
  'scenario',
  'chart',
  'unit',
  'lease',
]

/** Projects that need servers with a long build: the Kubernetes API server, or promtool for the conditions of alerts. It takes minutes. */
export const ON_BUILT: readonly string[] = ['chaos', 'operator', 'chart', 'lease']

/**
 * Number of projects that run in parallel. Half of them mostly wait, for leases, sessions and deadlines. With four, two cores have so much
 * to do that waits and deadlines of tests are missed.
 */
export const LANES = 3

/**
 * Tests of what a change most likely breaks: files that depend on it, adapters without a server, a document of each engine, and a scenario.
 */
export const QUICK_LANES: readonly Lane[] = [
  { projects: ['unit'], changed: 'main' },
  { projects: ['conformance'] },
  {
    projects: ['engine', 'scenario'],
    files: ['test/engine/html/document', 'test/engine/react-pdf/document', 'test/scenario/render'],
    names: /every row of a long|comes out as its author wrote it|keeps an async render/,
  },
]
