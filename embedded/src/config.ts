/** Reads the environment into `Config`, once, at start. It reports all faults together: the names of settings, never their values. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { ENGINE_SETTINGS, type EngineSettings, readEngineSettings } from '@platen/adapters/setting/engine.ts'
import {
  KEY_RING,
  LOG_LEVEL,
  type LogLevel,
  PORT,
  parseBaseUrl,
  parseBrand,
  parseInteger,
  parseKeyRing,
  parseLogLevel,
  parsePort,
} from '@platen/adapters/setting/parse.ts'
import {
  readSettings,
  type SettingReader,
  type SettingTable,
  type Variables,
} from '@platen/adapters/setting/setting.ts'
import { readTrafficLimits, TRAFFIC_SETTINGS } from '@platen/adapters/setting/traffic.ts'
import { readWebhookSettings, WEBHOOK_SETTINGS, type WebhookSettings } from '@platen/adapters/setting/webhook.ts'
import type { TrafficLimits } from '@platen/contract/api-limit.ts'
import type { KeyRing } from '@platen/contract/render-id.ts'

export interface Config extends EngineSettings {
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  readonly dataDir: string
  readonly manifestsDir: string
  /** Where callers reach this service, without a trailing slash. Absent = the address it listens on. */
  readonly publicUrl?: string
  /** Absent = generated in the data folder. */
  readonly idKeys?: KeyRing
  readonly brand: string
  readonly webhooks: WebhookSettings
  readonly traffic: TrafficLimits
  /** Port of the metrics. Absent = not served; 0 = any free port. */
  readonly metricsPort?: number
  readonly logLevel: LogLevel
  /** Renders at the same time, per engine. */
  readonly renderSlots: number
}

/** All settings. docs/operations.md is generated from this table. */
export const SETTINGS = {
  PLATEN_PORT: { default: '8080', description: 'Port to listen on; 0 takes any free one.' },
  PLATEN_HOST: { default: '127.0.0.1', description: 'Address to listen on; `0.0.0.0` for every interface.' },
  PLATEN_DATA_DIR: {
    default: './data',
    description:
      'Folder for everything that must last: database, PDFs, generated keys. Only one process at a time can use it.',
  },
  PLATEN_MANIFESTS_DIR: {
    default: './examples',
    description: 'Folder of the YAML manifests of plans, tenants, templates and API keys.',
  },
  PLATEN_PUBLIC_URL: {
    default: 'the listen address',
    description:
      'URL at which callers reach this service, such as `https://pdf.example.com`; `pdf_url` begins with it.',
  },
  PLATEN_ID_KEYS: {
    default: 'generated in the data folder',
    description:
      'Keys of the render ids, base64url of at least 32 bytes each, separated by commas; the first signs, all verify.',
  },
  PLATEN_BRAND: {
    default: 'service',
    description: 'The word in header names (`X-Service-Render-Id`) and key prefixes (`service_live_`).',
  },
  ...ENGINE_SETTINGS,
  ...WEBHOOK_SETTINGS,
  ...TRAFFIC_SETTINGS,
  PLATEN_METRICS_PORT: {
    default: 'none',
    description:
      'Port of `/livez`, `/readyz` and, for Prometheus, `/metrics`, on the address of `PLATEN_HOST`; 0 takes any free one.',
  },
  PLATEN_LOG_LEVEL: { default: 'info', description: 'Lowest level to log: `debug`, `info`, `warn` or `error`.' },
  PLATEN_RENDER_SLOTS: {
    default: 'the number of cores',
    description: 'Renders at the same time, per engine: 1 to 64. One more sync render can always begin.',
  },
} as const satisfies SettingTable

type Reader = SettingReader<keyof typeof SETTINGS>

const RENDER_SLOTS_MAX = 64

/** Reads the settings. Throws `ConfigError` that names every wrong setting. */
export function readConfig(variables: Variables): Config {
  return Object.freeze(readSettings(variables, configIn))
}

function configIn(reader: Reader): Config {
  const { read } = reader
  const publicUrl = read('PLATEN_PUBLIC_URL', parseBaseUrl, 'an http or https URL without query or fragment')
  const idKeys = read('PLATEN_ID_KEYS', parseKeyRing, KEY_RING)
  const metricsPort = read('PLATEN_METRICS_PORT', parsePort, PORT)
  return {
    host: read('PLATEN_HOST', (text) => text, 'an address') ?? '127.0.0.1',
    port: read('PLATEN_PORT', parsePort, PORT) ?? 8080,
    dataDir: read('PLATEN_DATA_DIR', resolve, 'a path') ?? resolve('data'),
    manifestsDir: read('PLATEN_MANIFESTS_DIR', resolve, 'a path') ?? resolve('examples'),
    brand: read('PLATEN_BRAND', parseBrand, 'a word of small letters, at most 32') ?? 'service',
    webhooks: readWebhookSettings(reader),
    traffic: readTrafficLimits(reader),
    ...readEngineSettings(reader),
    logLevel: read('PLATEN_LOG_LEVEL', parseLogLevel, LOG_LEVEL) ?? 'info',
    renderSlots:
      read('PLATEN_RENDER_SLOTS', (text) => parseInteger(text, [1, RENDER_SLOTS_MAX]), 'a number from 1 to 64') ??
      Math.min(availableParallelism(), RENDER_SLOTS_MAX),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(idKeys !== undefined && { idKeys }),
    ...(metricsPort !== undefined && { metricsPort }),
  }
}
