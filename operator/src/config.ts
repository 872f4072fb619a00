/** docs/cluster.md is generated from this table. */
import { REDIS_SETTINGS } from '@platen/adapters/setting/connection/redis.ts'
import { ARTIFACT_STORE_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { brandSetting, PROCESS_SETTINGS } from '@platen/adapters/setting/process.ts'
import { table, type ValueOf } from '@platen/adapters/setting/setting.ts'
import { SEAL_KEYS_SETTING } from '@platen/adapters/setting/webhook.ts'

export const SETTINGS = table({
  brand: brandSetting('Opens the prefix of generated API keys (`service_live_`).'),
  sealKeys: SEAL_KEYS_SETTING,
  ...PROCESS_SETTINGS,
  redis: REDIS_SETTINGS,
  ...ARTIFACT_STORE_SETTINGS,
})

export type Config = ValueOf<typeof SETTINGS>
