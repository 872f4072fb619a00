import { resolve } from 'node:path'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { type Format, integer, listOf, NETWORKS } from './format.ts'
import { mapped, optional, setting } from './setting.ts'

/** Engines that a process renders with, or that an installation has. */
export const ENGINE_LIST = listOf(ENGINES)

const CHROMIUM: Format<string> = {
  wanted: 'a path or none',
  parse: (text) => (text === 'none' ? text : resolve(text)),
}

/** For every process that renders templates, including the command line. */
export const ENGINE_SETTINGS = {
  /** `none` = no html engine; absent = the browser that is found. */
  chromium: optional('PLATEN_CHROMIUM', CHROMIUM, {
    default: 'the first one found',
    description:
      'Path of the Chromium binary that renders html; headless-shell is the fastest. With `none`, html is not rendered.',
  }),
  egressAllowCidrs: setting('PLATEN_EGRESS_ALLOW_CIDRS', NETWORKS, {
    default: 'none',
    absent: () => [],
    description: 'Private networks that the templates of all tenants may fetch from, such as `10.1.0.0/16,fd12::/16`.',
  }),
}

/** No deadline is longer, and a rollout has to end. */
export const DRAIN_SECONDS_MAX = 3600

const DRAIN_SECONDS = integer([0, DRAIN_SECONDS_MAX])

export const RENDERER_SETTINGS = {
  ...ENGINE_SETTINGS,
  drainMs: mapped(
    setting('PLATEN_DRAIN_SECONDS', DRAIN_SECONDS, {
      // By default Kubernetes sends SIGKILL 30 seconds after SIGTERM.
      default: '25',
      description: `Seconds that running renders have to finish after SIGTERM: ${DRAIN_SECONDS.range}. After that, other processes or the next start take them over. The process ends at most 5 seconds later, so \`terminationGracePeriodSeconds\` must be at least 5 higher.`,
    }),
    (seconds) => 1000 * seconds,
  ),
}
