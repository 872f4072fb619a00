/** What a renderer is told of its engines, as settings, wherever it runs. */
import { resolve } from 'node:path'
import { type Cidr, parseCidrs } from '@platen/contract/address.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import { NETWORKS, parseInteger, parseList } from './parse.ts'
import type { SettingReader, SettingTable } from './setting.ts'

/** The settings of who renders. */
export const ENGINE_SETTINGS = {
  PLATEN_CHROMIUM: {
    default: 'the one found',
    description:
      'Path of the Chromium binary that renders html, headless-shell being the quickest; `none` goes without html.',
  },
  PLATEN_EGRESS_ALLOW_CIDRS: {
    default: 'none',
    description:
      'Networks that templates may fetch from though they are not public, such as `10.1.0.0/16,fd12::/16`; every tenant may then.',
  },
  PLATEN_DRAIN_SECONDS: {
    default: '25',
    description:
      'How long renders in hand have to end after SIGTERM: 0 to 3600; then they are left to others, or to the next start. The process has gone 5 seconds later, so `terminationGracePeriodSeconds` is 5 more, or higher.',
  },
} as const satisfies SettingTable

export interface EngineSettings {
  /** Path of the browser to use; `none` for no html engine; absent = the one found. */
  readonly chromium?: string
  /** Addresses that templates may fetch from though they are not public. */
  readonly egressAllowCidrs: readonly Cidr[]
  /** How long renders in hand have to end when the process is told to go. */
  readonly drainMs: number
}

/** Kubernetes kills 30 seconds after SIGTERM unless it is told otherwise. */
const DRAIN_SECONDS_DEFAULT = 25
const DRAIN_SECONDS_MAX = 3600

/** What `parseEngines` takes. */
export const ENGINE_LIST = `of ${ENGINES.join(' and ')}, separated by commas`

/** Some of the engines, or one. */
export function parseEngines(text: string): readonly Engine[] | undefined {
  return parseList(text, ENGINES)
}

function parseDrain(text: string): number | undefined {
  return parseInteger(text, [0, DRAIN_SECONDS_MAX])
}

/** Reads what engines are told. */
export function readEngineSettings({ read }: SettingReader<keyof typeof ENGINE_SETTINGS>): EngineSettings {
  const chromium = read('PLATEN_CHROMIUM', (text) => (text === 'none' ? text : resolve(text)), 'a path or none')
  return {
    ...(chromium !== undefined && { chromium }),
    drainMs:
      1000 *
      (read('PLATEN_DRAIN_SECONDS', parseDrain, `a number from 0 to ${DRAIN_SECONDS_MAX}`) ?? DRAIN_SECONDS_DEFAULT),
    egressAllowCidrs: read('PLATEN_EGRESS_ALLOW_CIDRS', parseCidrs, NETWORKS) ?? [],
  }
}
