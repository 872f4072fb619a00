/** Settings of the engines of a renderer, in a cluster or embedded. */
import { resolve } from 'node:path'
import { type Cidr, parseCidrs } from '@platen/contract/address.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import { NETWORKS, parseInteger, parseList } from './parse.ts'
import type { SettingReader, SettingTable } from './setting.ts'

/** The settings of processes that render. */
export const ENGINE_SETTINGS = {
  PLATEN_CHROMIUM: {
    default: 'the first one found',
    description:
      'Path of the Chromium binary that renders html; headless-shell is the fastest. With `none`, html is not rendered.',
  },
  PLATEN_EGRESS_ALLOW_CIDRS: {
    default: 'none',
    description: 'Private networks that the templates of all tenants may fetch from, such as `10.1.0.0/16,fd12::/16`.',
  },
  PLATEN_DRAIN_SECONDS: {
    default: '25',
    description:
      'Seconds that running renders have to finish after SIGTERM: 0 to 3600. After that, other processes or the next start take them over. The process ends at most 5 seconds later, so `terminationGracePeriodSeconds` must be at least 5 higher.',
  },
} as const satisfies SettingTable

export interface EngineSettings {
  /** Path of the browser; `none` = no html engine; absent = the browser that is found. */
  readonly chromium?: string
  /** Address blocks that templates may fetch from although they are not public. */
  readonly egressAllowCidrs: readonly Cidr[]
  /** How long renders in hand may take after SIGTERM. */
  readonly drainMs: number
}

/** By default Kubernetes sends SIGKILL 30 seconds after SIGTERM. */
const DRAIN_SECONDS_DEFAULT = 25
const DRAIN_SECONDS_MAX = 3600

/** Describes what `parseEngines` accepts. */
export const ENGINE_LIST = `of ${ENGINES.join(' and ')}, separated by commas`

/** Parses a list of at least one engine. */
export function parseEngines(text: string): readonly Engine[] | undefined {
  return parseList(text, ENGINES)
}

function parseDrain(text: string): number | undefined {
  return parseInteger(text, [0, DRAIN_SECONDS_MAX])
}

/** Reads the settings of the engines. */
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
