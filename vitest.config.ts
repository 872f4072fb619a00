import { join } from 'node:path'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { LongestFirst } from './test/run/sequencer.ts'
import { SummaryReporter } from './test/run/summary-reporter.ts'
import { isTimeReal, SCALED_TIME, scaledTime } from './test/time/scaled-time.ts'
import { CHART_SERVERS, hasServers, KUBERNETES_SERVERS, SERVICE_SERVERS } from './test/topology/server/binary.ts'

const SECOND_MS = 1000

interface Project {
  readonly name: string
  readonly include: readonly string[]
  /** Ends what hangs, and judges no speed: the machine may be shared. Hooks have two minutes, as they start servers. */
  readonly limitSeconds: number
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
  { name: 'conformance', include: ['test/conformance/*.test.ts'], limitSeconds: 60 },
  {
    name: 'engine',
    include: [
      'test/{engine,hostile,api,embedded,cli,client,webhook,postman,topology,image,time,run,fuzz,audit}/**/*.test.ts',
    ],
    limitSeconds: 120,
  },
  { name: 'scenario', include: ['test/scenario/*.test.ts'], limitSeconds: 120, topology: 'embedded' },
  { name: 'chaos', include: ['test/chaos/**/*.test.ts'], limitSeconds: 600 },
]

/** What users see is one suite, run on both topologies; beside it what only processes apart can do. */
const ON_CLUSTER: readonly Project[] = [
  { name: 'scenario-on-cluster', include: ['test/scenario/*.test.ts'], limitSeconds: 120, topology: 'cluster' },
  { name: 'cluster', include: ['test/cluster/**/*.test.ts', INJECTION], limitSeconds: 120 },
]

/** What a lease outlives is measured by it: an API server that starts again takes longer than a shortened one lasts. */
const LEASE = 'test/operator/cluster/lease.test.ts'

/** What becomes of resources, on a real Kubernetes API. */
const ON_KUBERNETES: readonly Project[] = [
  { name: 'operator', include: ['test/operator/**/*.test.ts'], exclude: [LEASE], limitSeconds: 120 },
  { name: 'lease', include: [LEASE], limitSeconds: 120, isInRealTime: true },
]

function projectOf(project: Project): TestProjectInlineConfiguration {
  const { name, include, exclude = [], limitSeconds, topology, isInRealTime = isTimeReal } = project
  return {
    plugins: isInRealTime ? [] : [scaledTime()],
    test: {
      name,
      include: [...include],
      exclude: ['**/node_modules/**', ...exclude],
      globalSetup: ['test/run/run-servers.setup.ts'],
      setupFiles: ['test/run/leftover.setup.ts'],
      testTimeout: limitSeconds * SECOND_MS,
      hookTimeout: 120 * SECOND_MS,
      provide: { project: name, ...(topology && { topology }) },
      ...(isInRealTime ? {} : SCALED_TIME),
    },
  }
}

/** What Helm makes of the chart. */
const ON_HELM: Project = { name: 'chart', include: ['test/{chart,monitoring}/*.test.ts'], limitSeconds: 120 }

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
          // Property tests take seconds where the machine is shared: a limit is there to end what hangs, not to judge speed.
          testTimeout: 180 * SECOND_MS,
          hookTimeout: 180 * SECOND_MS,
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
