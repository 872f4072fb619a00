import { anyText, matching, oneOf, PORT } from './format.ts'
import { ConfigError, type Settings, setting, type ValueOf, type ValuesOf, type Variables } from './setting.ts'

const LOG_LEVEL = oneOf(['debug', 'info', 'warn', 'error'])
const BRAND = matching(/^[a-z]{1,32}$/, 'a word of small letters, at most 32')

/** The word used in header names and key prefixes. Each process describes where it uses the word. */
export function brandSetting(description: string): Settings<string> {
  return setting('PLATEN_BRAND', BRAND, { default: 'service', description })
}

export const LOG_LEVEL_SETTING = setting('PLATEN_LOG_LEVEL', LOG_LEVEL, {
  default: 'info',
  description: 'Lowest level to log: `debug`, `info`, `warn` or `error`.',
})

/** A wrong level reads as the default: the log exists before the settings are read, and reports the faults. */
export function readLogLevel(variables: Variables): ValueOf<typeof LOG_LEVEL_SETTING> {
  try {
    return LOG_LEVEL_SETTING.read(variables)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return LOG_LEVEL_SETTING.read({})
  }
}

export const PROCESS_SETTINGS = {
  host: setting('PLATEN_HOST', anyText('an address'), {
    default: '0.0.0.0',
    description: 'Address to listen on, `127.0.0.1` for this machine alone.',
  }),
  metricsPort: setting('PLATEN_METRICS_PORT', PORT, {
    default: '9090',
    description: 'Port of `/livez`, `/readyz` and `/metrics`; 0 takes any free one.',
  }),
  logLevel: LOG_LEVEL_SETTING,
}

export type ProcessConfig = ValuesOf<typeof PROCESS_SETTINGS>
