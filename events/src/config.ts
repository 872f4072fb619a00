/** docs/cluster.md is generated from this table. */
import { CONNECTION_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { brandSetting, PROCESS_SETTINGS } from '@platen/adapters/setting/process.ts'
import { table, type ValueOf } from '@platen/adapters/setting/setting.ts'
import { TRACE_SETTINGS } from '@platen/adapters/setting/trace.ts'
import { SEAL_KEYS_SETTING, WEBHOOK_SETTINGS } from '@platen/adapters/setting/webhook.ts'

export const SETTINGS = table({
  brand: brandSetting('The word in header names (`X-Service-Signature`).'),
  webhooks: WEBHOOK_SETTINGS,
  sealKeys: SEAL_KEYS_SETTING,
  traces: TRACE_SETTINGS,
  ...PROCESS_SETTINGS,
  ...CONNECTION_SETTINGS,
})

export type Config = ValueOf<typeof SETTINGS>
