/** Settings of every process of a cluster. */
import { hostname } from 'node:os'
import { anyText, BOOLEAN, matching, oneOf, PORT } from './format.ts'
import { ConfigError, type Settings, setting, type ValueOf, type ValuesOf, type Variables } from './setting.ts'

const LOG_LEVEL = oneOf(['debug', 'info', 'warn', 'error'])
const BRAND = matching(/^[a-z]{1,32}$/, 'a word of small letters, at most 32')

/** The setting of the word used in header names and key prefixes. Each process tells where it uses the word. */
export function brandSetting(description: string): Settings<string> {
  return setting('PLATEN_BRAND', BRAND, { default: 'service', description })
}

/** Of a process that has the API. */
export const DOCS_SETTING = setting('PLATEN_DOCS', BOOLEAN, {
  default: 'true',
  description: 'Serve the documentation page at `/docs`. It says nothing that `/openapi.json` does not.',
})

export const LOG_LEVEL_SETTING = setting('PLATEN_LOG_LEVEL', LOG_LEVEL, {
  default: 'info',
  description: 'Lowest level to log: `debug`, `info`, `warn` or `error`.',
})

const INSTANCE = matching(/^[\w.-]{1,253}$/, 'a name, at most 253 characters')

/** Several processes may be on one host, and each needs a name of its own. */
export const INSTANCE_SETTING = setting('PLATEN_INSTANCE', INSTANCE, {
  default: 'the name of the host and the process id',
  absent: () => `${hostname()}-${process.pid}`,
  description:
    'What this process is called in its log, and an operator also in the Lease and in events; in a pod its name.',
})

/** Reads the settings of the log. Wrong ones have their defaults: the log exists before the settings are read, and reports the faults. */
export function readLogSettings(variables: Variables): {
  readonly level: ValueOf<typeof LOG_LEVEL_SETTING>
  readonly instance: string
} {
  return { level: orDefault(LOG_LEVEL_SETTING, variables), instance: orDefault(INSTANCE_SETTING, variables) }
}

function orDefault<Value>(one: Settings<Value>, variables: Variables): Value {
  try {
    return one.read(variables)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return one.read({})
  }
}

/** The settings of every process. */
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
  instance: INSTANCE_SETTING,
}

export type ProcessConfig = ValuesOf<typeof PROCESS_SETTINGS>
