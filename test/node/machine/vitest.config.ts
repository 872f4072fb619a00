import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { IS_LONG } from '../../run/form.ts'
import { SummaryReporter } from '../../run/summary-reporter.ts'

const MINUTE_MS = 60_000

/** What has to hold whenever anything changes: the images, both engines, one closed loop and one upgrade. */
const SHORT = 'test/node/{image,release,loop,upgrade}.test.ts'

/** `make e2e` runs these in namespaces of their own, where a node can be: one file after the other. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    reporters: ['default', new SummaryReporter()],
    include: [IS_LONG ? 'test/node/*.test.ts' : SHORT],
    fileParallelism: false,
    // One node for all of them: what `installed.ts` has started.
    isolate: false,
    // They end what hangs: a node takes two minutes to come up beside others.
    testTimeout: 20 * MINUTE_MS,
    hookTimeout: 15 * MINUTE_MS,
  },
})
