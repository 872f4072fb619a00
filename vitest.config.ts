import { join } from 'node:path'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { LongestFirst } from './test/run/sequencer.ts'
import { SummaryReporter } from './test/run/summary-reporter.ts'
import { isTimeReal, SCALED_TIME, scaledTime } from './test/time/scaled-time.ts'
import { CHART_SERVERS, hasServers, KUBERNETES_SERVERS, SERVICE_SERVERS } from './test/topology/server/binary.ts'

const SECOND_MS = 1000
/** Ends what hangs, and judges no speed: the machine may be shared. */
const LIMIT_SECONDS = 300

interface Project {
  readonly name: string
  readonly include: readonly string[]
  /** `LIMIT_SECONDS` if absent. */
  readonly limitSeconds?: number
  readonly topology?: 'embedded' | 'cluster'
  /** Files of another project. */
  readonly exclude?: readonly string[]
  /** Has it the waits of the product in any case? */
  readonly isInRealTime?: boolean
}

/** What hostile names reach is looked up in real servers. */
const INJECTION = 'test/hostile/injection/*.test.ts'

/** Projects whose files start something: processes, threads, browsers, whole services. */
const STARTING: readonly Project[] = [
  { name: 'conformance', include: ['test/conformance/*.test.ts'] },
  { name: 'engine', include: ['test/engine/**/*.test.ts'] },
  { name: 'hostile', include: ['test/hostile/**/*.test.ts'] },
  {
    name: 'service',
    include: [
      'test/{api,embedded,cli,client,client-python,webhook,postman,openapi,topology,image,time,run,fuzz,audit,peer}/**/*.test.ts',
    ],
  },
  { name: 'scenario', include: ['test/scenario/*.test.ts'], topology: 'embedded' },
  { name: 'chaos', include: ['test/{chaos,drill}/**/*.test.ts'], limitSeconds: 600 },
]

/** What users see is one suite, run on both topologies; beside it what only processes apart can do. */
const ON_CLUSTER: readonly Project[] = [
  { name: 'scenario-on-cluster', include: ['test/scenario/*.test.ts'], topology: 'cluster' },
  { name: 'cluster', include: ['test/cluster/**/*.test.ts', INJECTION] },
]

/** What a lease outlives is measured by it: an API server that starts again takes longer than a shortened one lasts. */
const LEASE = 'test/operator/cluster/lease.test.ts'

/** What becomes of resources, on a real Kubernetes API. */
const ON_KUBERNETES: readonly Project[] = [
  { name: 'operator', include: ['test/operator/**/*.test.ts'], exclude: [LEASE] },
  { name: 'lease', include: [LEASE], isInRealTime: true },
]

function projectOf(project: Project): TestProjectInlineConfiguration {
  const { name, include, exclude = [], limitSeconds = LIMIT_SECONDS, topology, isInRealTime = isTimeReal } = project
  return {
    plugins: isInRealTime ? [] : [scaledTime()],
    test: {
      name,
      include: [...include],
      exclude: ['**/node_modules/**', ...exclude],
      globalSetup: ['test/run/run-servers.setup.ts'],
      setupFiles: ['test/run/leftover.setup.ts'],
      testTimeout: limitSeconds * SECOND_MS,
      hookTimeout: limitSeconds * SECOND_MS,
      provide: { project: name, ...(topology && { topology }) },
      ...(isInRealTime ? {} : SCALED_TIME),
    },
  }
}

/** What Helm makes of the chart. */
const ON_HELM: Project = { name: 'chart', include: ['test/{chart,monitoring}/**/*.test.ts'] }

/** `make test` runs these in lanes, see `test/run/main.ts`; `npx vitest run` runs them in one queue. */
export default defineConfig({
  test: {
    reporters: ['default', new SummaryReporter()],
    sequence: { sequencer: LongestFirst },
    // Hundreds of processes are started, each of which would compile the same modules again.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compile') },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['*/src/**/*.test.ts', 'test/*.test.ts'],
          // They start nothing and keep no state in modules, so a thread may run one file after the other.
          pool: 'threads',
          isolate: false,
          testTimeout: LIMIT_SECONDS * SECOND_MS,
          hookTimeout: LIMIT_SECONDS * SECOND_MS,
        },
      },
      ...STARTING.map(projectOf),
      ...ON_CLUSTER.map((project) => projectOf(hasServers(SERVICE_SERVERS) ? project : { ...project, include: [] })),
      ...ON_KUBERNETES.map((project) =>
        projectOf(hasServers(KUBERNETES_SERVERS) ? project : { ...project, include: [] }),
      ),
      projectOf(hasServers(CHART_SERVERS) ? ON_HELM : { ...ON_HELM, include: [] }),
    ],
  },
})
