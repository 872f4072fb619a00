/** Reads the configuration of an events process from the environment, once, at start. */
import {
  CONNECTION_SETTINGS,
  type ConnectionSettings,
  readConnectionSettings,
} from '@platen/adapters/setting/connection.ts'
import { parseBrand } from '@platen/adapters/setting/parse.ts'
import { PROCESS_SETTINGS, type ProcessSettings, readProcessSettings } from '@platen/adapters/setting/process.ts'
import { readSealKey, SEAL_SETTINGS } from '@platen/adapters/setting/seal.ts'
import {
  readSettings,
  type SettingReader,
  type SettingTable,
  type Variables,
} from '@platen/adapters/setting/setting.ts'
import { readWebhookSettings, WEBHOOK_SETTINGS, type WebhookSettings } from '@platen/adapters/setting/webhook.ts'
import type { SealKey } from '@platen/contract/seal.ts'

/** The settings of an events process. docs/operations.md is generated from it. */
export const SETTINGS = {
  PLATEN_BRAND: { default: 'service', description: 'The word in header names (`X-Service-Signature`).' },
  ...WEBHOOK_SETTINGS,
  ...SEAL_SETTINGS,
  ...PROCESS_SETTINGS,
  ...CONNECTION_SETTINGS,
} as const satisfies SettingTable

export interface Config extends ProcessSettings, ConnectionSettings {
  readonly brand: string
  readonly webhooks: WebhookSettings
  readonly sealKey: SealKey
}

/** Reads the settings. Throws `ConfigError`, which names every invalid setting. */
export function readConfig(variables: Variables): Config {
  return readSettings(variables, configIn)
}

function configIn(reader: SettingReader<keyof typeof SETTINGS>): Config | undefined {
  const sealKey = readSealKey(reader)
  const connections = readConnectionSettings(reader)
  const others = {
    ...readProcessSettings(reader),
    brand: reader.read('PLATEN_BRAND', parseBrand, 'a word of small letters, at most 32') ?? 'service',
    webhooks: readWebhookSettings(reader),
  }
  return sealKey && connections && { ...others, ...connections, sealKey }
}
