/** What a renderer is told of its engines, as settings, wherever it runs. */
import { resolve } from 'node:path'
import { type Cidr, parseCidrs } from '@platen/contract/address.ts'
import { ENGINES, type Engine } from '@platen/contract/render.ts'
import { NETWORKS, parseList } from './parse.ts'
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
} as const satisfies SettingTable

export interface EngineSettings {
  /** Path of the browser to use; `none` for no html engine; absent = the one found. */
  readonly chromium?: string
  /** Addresses that templates may fetch from though they are not public. */
  readonly egressAllowCidrs: readonly Cidr[]
}

/** What `parseEngines` takes. */
export const ENGINE_LIST = `of ${ENGINES.join(' and ')}, separated by commas`

/** Some of the engines, or one. */
export function parseEngines(text: string): readonly Engine[] | undefined {
  return parseList(text, ENGINES)
}

/** Reads what engines are told. */
export function readEngineSettings({ read }: SettingReader<keyof typeof ENGINE_SETTINGS>): EngineSettings {
  const chromium = read('PLATEN_CHROMIUM', (text) => (text === 'none' ? text : resolve(text)), 'a path or none')
  return {
    ...(chromium !== undefined && { chromium }),
    egressAllowCidrs: read('PLATEN_EGRESS_ALLOW_CIDRS', parseCidrs, NETWORKS) ?? [],
  }
}
