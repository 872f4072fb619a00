/** The settings of `platen publish`. A separate module, because the usage text needs them without the S3 client. */
import { REDIS_SETTINGS } from '@platen/adapters/setting/connection/redis.ts'
import { ARTIFACT_STORE_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { PATH } from '@platen/adapters/setting/format.ts'
import { brandSetting } from '@platen/adapters/setting/process.ts'
import { setting, table } from '@platen/adapters/setting/setting.ts'
import { SEAL_KEYS_SETTING } from '@platen/adapters/setting/webhook.ts'

export const SETTINGS = table({
  redis: REDIS_SETTINGS,
  ...ARTIFACT_STORE_SETTINGS,
  sealKeys: SEAL_KEYS_SETTING,
  dataDir: setting('PLATEN_DATA_DIR', PATH, {
    default: './data',
    description: 'Folder of the identities of tenants, generated API keys and webhook secrets.',
  }),
  brand: brandSetting('Opens the prefix of generated API keys (`service_live_`).'),
})
