import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { SummaryReporter } from '../../run/summary-reporter.ts'

const MINUTE_MS = 60_000

/** `make e2e` runs these in namespaces of their own, where a node can be: one file after the other. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    reporters: ['default', new SummaryReporter()],
    include: ['test/node/*.test.ts'],
    fileParallelism: false,
    // One node for all of them: what `installed.ts` has started.
    isolate: false,
    // They end what hangs: a node takes two minutes to come up beside others.
    testTimeout: 20 * MINUTE_MS,
    hookTimeout: 15 * MINUTE_MS,
  },
})
