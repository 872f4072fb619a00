/** Reads the configuration of an API process from the environment, once, at start. */
import {
  CONNECTION_SETTINGS,
  type ConnectionSettings,
  readConnectionSettings,
} from '@platen/adapters/setting/connection.ts'
import { ENGINE_LIST, parseEngines } from '@platen/adapters/setting/engine.ts'
import { KEY_RING, PORT, parseBrand, parseInteger, parseKeyRing, parsePort } from '@platen/adapters/setting/parse.ts'
import { PROCESS_SETTINGS, type ProcessSettings, readProcessSettings } from '@platen/adapters/setting/process.ts'
import {
  readSettings,
  type SettingReader,
  type SettingTable,
  type Variables,
} from '@platen/adapters/setting/setting.ts'
import { readTrafficLimits, TRAFFIC_SETTINGS } from '@platen/adapters/setting/traffic.ts'
import { readWebhookPolicy, WEBHOOK_POLICY_SETTINGS } from '@platen/adapters/setting/webhook.ts'
import type { TrafficLimits } from '@platen/contract/api-limit.ts'
import type { KeyRing } from '@platen/contract/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import type { WebhookPolicy } from '@platen/contract/webhook-url.ts'

/** The settings of an API process. docs/operations.md is generated from it. */
export const SETTINGS = {
  PLATEN_PORT: { default: '8080', description: 'Port to listen on; 0 takes any free one.' },
  PLATEN_ID_KEYS: {
    default: 'required',
    description:
      'Keys of the render ids, base64url of at least 32 bytes each, separated by commas; the first signs, all verify. The same for all API processes.',
  },
  PLATEN_BRAND: {
    default: 'service',
    description: 'The word in header names (`X-Service-Render-Id`) and key prefixes (`service_live_`).',
  },
  PLATEN_ENGINES: {
    default: 'react_pdf,html',
    description: 'Engines that this installation has renderers for; requests for other engines are answered 503.',
  },
  PLATEN_API_REPLICAS: {
    default: 'the last number known from Redis',
    description: 'Number of API processes that share the limits while Redis is unavailable: 1 to 1000.',
  },
  ...WEBHOOK_POLICY_SETTINGS,
  ...TRAFFIC_SETTINGS,
  ...PROCESS_SETTINGS,
  ...CONNECTION_SETTINGS,
} as const satisfies SettingTable

export interface Config extends ProcessSettings, ConnectionSettings {
  /** 0 = any free port. */
  readonly port: number
  readonly idKeys: KeyRing
  readonly brand: string
  /** The engines that this installation has renderers of. */
  readonly engines: readonly Engine[]
  /** The number of API processes. Absent: Redis knows it. */
  readonly replicas?: number | undefined
  readonly webhooks: WebhookPolicy
  readonly traffic: TrafficLimits
}

const PORT_DEFAULT = 8080

/** Reads the settings. Throws `ConfigError`, which names every invalid setting. */
export function readConfig(variables: Variables): Config {
  return readSettings(variables, configIn)
}

function configIn(reader: SettingReader<keyof typeof SETTINGS>): Config | undefined {
  const { read, require } = reader
  const idKeys = require('PLATEN_ID_KEYS', parseKeyRing, KEY_RING)
  const connections = readConnectionSettings(reader)
  const others = {
    ...readProcessSettings(reader),
    port: read('PLATEN_PORT', parsePort, PORT) ?? PORT_DEFAULT,
    brand: read('PLATEN_BRAND', parseBrand, 'a word of small letters, at most 32') ?? 'service',
    engines: read('PLATEN_ENGINES', parseEngines, ENGINE_LIST) ?? ENGINES,
    replicas: read('PLATEN_API_REPLICAS', parseReplicas, 'a number from 1 to 1000'),
    webhooks: readWebhookPolicy(reader),
    traffic: readTrafficLimits(reader),
  }
  return idKeys && connections && { ...others, ...connections, idKeys }
}

function parseReplicas(text: string): number | undefined {
  return parseInteger(text, [1, 1000])
}
