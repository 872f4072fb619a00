/** Reads the settings of a renderer process from the environment, once, at start. */
import { availableParallelism } from 'node:os'
import {
  CONNECTION_SETTINGS,
  type ConnectionSettings,
  readConnectionSettings,
} from '@platen/adapters/setting/connection.ts'
import {
  ENGINE_LIST,
  ENGINE_SETTINGS,
  type EngineSettings,
  parseEngines,
  readEngineSettings,
} from '@platen/adapters/setting/engine.ts'
import { KEY, parseBoolean, parseInteger, parseKey, parseList } from '@platen/adapters/setting/parse.ts'
import { PROCESS_SETTINGS, type ProcessSettings, readProcessSettings } from '@platen/adapters/setting/process.ts'
import {
  readSettings,
  type SettingReader,
  type SettingTable,
  type Variables,
} from '@platen/adapters/setting/setting.ts'
import type { EventKey } from '@platen/contract/event.ts'
import { LANES, type Lane } from '@platen/contract/render.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'

/** The settings of a renderer process. docs/operations.md is generated from this table. */
export const SETTINGS = {
  PLATEN_ENGINES: { default: 'react_pdf,html', description: 'Engines that this process renders with.' },
  PLATEN_LANES: { default: 'sync,async,bulk', description: 'Lanes that this process takes renders from.' },
  PLATEN_CONCURRENCY: {
    default: 'the number of cores',
    description:
      'Renders at the same time, per engine: 1 to 64. One more sync render can begin if other lanes are served too.',
  },
  PLATEN_EVENT_KEY: {
    default: 'required',
    description: 'Key that event ids are derived with, base64url of at least 32 bytes; the same for all renderers.',
  },
  PLATEN_TENANT_METRICS: {
    default: 'false',
    description: 'Also count renders by tenant and template; for installations with a few hundred templates.',
  },
  ...ENGINE_SETTINGS,
  ...PROCESS_SETTINGS,
  ...CONNECTION_SETTINGS,
} as const satisfies SettingTable

export interface Config extends ProcessSettings, EngineSettings, ConnectionSettings {
  readonly engines: readonly Engine[]
  readonly lanes: readonly Lane[]
  /** Renders at the same time, per engine. */
  readonly concurrency: number
  readonly eventKey: EventKey
  readonly countsTenants: boolean
}

const CONCURRENCY_MAX = 64

/** Reads the settings. Throws `ConfigError` naming every one that is wrong. */
export function readConfig(variables: Variables): Config {
  return readSettings(variables, configIn)
}

function configIn(reader: SettingReader<keyof typeof SETTINGS>): Config | undefined {
  const { read, require } = reader
  const eventKey = require('PLATEN_EVENT_KEY', parseKey, KEY)
  const connections = readConnectionSettings(reader)
  const concurrency = read(
    'PLATEN_CONCURRENCY',
    (text) => parseInteger(text, [1, CONCURRENCY_MAX]),
    `a number from 1 to ${CONCURRENCY_MAX}`,
  )
  const others = {
    ...readProcessSettings(reader),
    ...readEngineSettings(reader),
    engines: read('PLATEN_ENGINES', parseEngines, ENGINE_LIST) ?? ENGINES,
    lanes:
      read('PLATEN_LANES', (text) => parseList(text, LANES), 'of sync, async and bulk, separated by commas') ?? LANES,
    countsTenants: read('PLATEN_TENANT_METRICS', parseBoolean, 'true or false') ?? false,
    concurrency: concurrency ?? Math.min(availableParallelism(), CONCURRENCY_MAX),
  }
  return eventKey && connections && { ...others, ...connections, eventKey }
}
