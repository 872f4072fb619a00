import { defineConfig } from 'vitest/config'
import { SummaryReporter } from './test/summary-reporter.ts'
import { hasServers, OPERATOR_SERVERS, SERVICE_SERVERS } from './test/topology/server/binary.ts'

const SECOND_MS = 1000

/** What users see is one suite, run on both topologies. Where a server of the cluster is missing, the first of them alone. */
const SCENARIOS = {
  include: ['test/scenario/*.test.ts'],
  fileParallelism: false,
  testTimeout: 120 * SECOND_MS,
  hookTimeout: 120 * SECOND_MS,
}
const CLUSTER = {
  test: {
    ...SCENARIOS,
    name: 'scenario-on-cluster',
    sequence: { groupOrder: 5 },
    globalSetup: ['test/topology/cluster/kafka.setup.ts'],
  },
}
/** What only processes apart can do: one of them stopped, killed, in the way of another, or started on what it cannot stand on. */
const PROCESSES = {
  test: {
    ...CLUSTER.test,
    name: 'cluster',
    include: ['test/cluster/**/*.test.ts'],
    sequence: { groupOrder: 6 },
  },
}
/** What becomes of resources, on a real Kubernetes API. */
const OPERATOR = {
  test: {
    name: 'operator',
    include: ['test/operator/**/*.test.ts'],
    sequence: { groupOrder: 7 },
    fileParallelism: false,
    testTimeout: 120 * SECOND_MS,
    hookTimeout: 120 * SECOND_MS,
  },
}
const hasCluster = hasServers(SERVICE_SERVERS)
const hasKubernetes = hasServers(OPERATOR_SERVERS)

/**
 * The suites run one after the other, the quick ones first. Those that start threads, browsers or whole services run one
 * file at a time: on a small machine they would only slow each other into their deadlines.
 */
export default defineConfig({
  test: {
    reporters: ['default', new SummaryReporter()],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['*/src/**/*.test.ts', 'test/*.test.ts'],
          sequence: { groupOrder: 1 },
          // Property tests take seconds where the machine is shared: a limit is there to end what hangs, not to judge speed.
          testTimeout: 60 * SECOND_MS,
          hookTimeout: 60 * SECOND_MS,
        },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/*.test.ts'],
          sequence: { groupOrder: 2 },
          testTimeout: 60 * SECOND_MS,
          hookTimeout: 60 * SECOND_MS,
        },
      },
      {
        test: {
          name: 'engine',
          include: ['test/{engine,hostile,api,embedded,cli,client,webhook,postman,topology,image}/**/*.test.ts'],
          sequence: { groupOrder: 3 },
          fileParallelism: false,
          testTimeout: 120 * SECOND_MS,
          hookTimeout: 120 * SECOND_MS,
        },
      },
      { test: { ...SCENARIOS, name: 'scenario', sequence: { groupOrder: 4 } } },
      ...(hasCluster ? [CLUSTER, PROCESSES] : []),
      ...(hasKubernetes ? [OPERATOR] : []),
      {
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          sequence: { groupOrder: 8 },
          fileParallelism: false,
          testTimeout: 600 * SECOND_MS,
          hookTimeout: 120 * SECOND_MS,
        },
      },
    ],
  },
})
