import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { IS_LONG } from '../../run/form.ts'
import { SummaryReporter } from '../../run/summary-reporter.ts'

const MINUTE_MS = 60_000

/** Tests for every change: the images, both engines, one closed loop and one upgrade. */
const SHORT = 'test/node/{image,release,loop,upgrade}.test.ts'

/** `make e2e` runs these tests in the namespaces of `enter.ts`, where a node can run, one file after the other. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    reporters: ['default', new SummaryReporter()],
    include: [IS_LONG ? 'test/node/*.test.ts' : SHORT],
    fileParallelism: false,
    // All files share one node, which `installed.ts` starts.
    isolate: false,
    // Limits for tests that hang: on a busy machine a node takes two minutes to start.
    testTimeout: 20 * MINUTE_MS,
    hookTimeout: 15 * MINUTE_MS,
  },
})
