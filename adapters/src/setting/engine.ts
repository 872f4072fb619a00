/** Settings of the engines of a renderer, in a cluster or embedded. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { ENGINES } from '@platen/contract/render-options.ts'
import { type Format, integer, listOf, NETWORKS } from './format.ts'
import { mapped, optional, setting } from './setting.ts'

/** Engines that a process renders with, or that an installation has. */
export const ENGINE_LIST = listOf(ENGINES)

const SLOTS_MAX = 64

/** Renders at the same time, per engine. */
export const SLOTS = integer([1, SLOTS_MAX])
export const SLOTS_DEFAULT = {
  default: 'the number of cores',
  absent: () => Math.min(availableParallelism(), SLOTS_MAX),
}

const CHROMIUM: Format<string> = {
  wanted: 'a path or none',
  parse: (text) => (text === 'none' ? text : resolve(text)),
}

/** The settings of the engines wherever templates are rendered, the command line included. */
export const SANDBOX_SETTINGS = {
  /** `none` = no html engine; absent = the browser that is found. */
  chromium: optional('PLATEN_CHROMIUM', CHROMIUM, {
    default: 'the one found',
    description:
      'Path of the Chromium binary that renders html, headless-shell being the quickest; `none` goes without html.',
  }),
  egressAllowCidrs: setting('PLATEN_EGRESS_ALLOW_CIDRS', NETWORKS, {
    default: 'none',
    absent: () => [],
    description:
      'Networks that templates may fetch from though they are not public, such as `10.1.0.0/16,fd12::/16`; every tenant may then.',
  }),
}

const DRAIN_SECONDS = integer([0, 3600])

/** The settings of processes that render. */
export const ENGINE_SETTINGS = {
  ...SANDBOX_SETTINGS,
  drainMs: mapped(
    setting('PLATEN_DRAIN_SECONDS', DRAIN_SECONDS, {
      // By default Kubernetes sends SIGKILL 30 seconds after SIGTERM.
      default: '25',
      description: `How long renders in hand have to end after SIGTERM: ${DRAIN_SECONDS.range}; then they are left to others, or to the next start. The process has gone 5 seconds later, so \`terminationGracePeriodSeconds\` is 5 more, or higher.`,
    }),
    (seconds) => 1000 * seconds,
  ),
}
