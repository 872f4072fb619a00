/** Settings of every process of a cluster. */
import { LOG_LEVEL, type LogLevel, PORT, parseLogLevel, parsePort } from './parse.ts'
import type { SettingReader, SettingTable } from './setting.ts'

/** The settings of every process. */
export const PROCESS_SETTINGS = {
  PLATEN_HOST: { default: '0.0.0.0', description: 'Address to listen on, `127.0.0.1` for this machine alone.' },
  PLATEN_METRICS_PORT: {
    default: '9090',
    description: 'Port of `/livez`, `/readyz` and `/metrics`; 0 takes any free one.',
  },
  PLATEN_LOG_LEVEL: { default: 'info', description: 'Lowest level to log: `debug`, `info`, `warn` or `error`.' },
} as const satisfies SettingTable

export interface ProcessSettings {
  readonly host: string
  /** 0 = any free port. */
  readonly metricsPort: number
  readonly logLevel: LogLevel
}

const METRICS_PORT_DEFAULT = 9090

/** Reads the settings of a process. */
export function readProcessSettings({ read }: SettingReader<keyof typeof PROCESS_SETTINGS>): ProcessSettings {
  return {
    host: read('PLATEN_HOST', (text) => text, 'an address') ?? '0.0.0.0',
    metricsPort: read('PLATEN_METRICS_PORT', parsePort, PORT) ?? METRICS_PORT_DEFAULT,
    logLevel: read('PLATEN_LOG_LEVEL', parseLogLevel, LOG_LEVEL) ?? 'info',
  }
}
