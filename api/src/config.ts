/** docs/cluster.md is generated from this table. */
import { CONNECTION_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { ENGINE_LIST } from '@platen/adapters/setting/engine.ts'
import { KEY_RING, PORT } from '@platen/adapters/setting/format.ts'
import { brandSetting, PROCESS_SETTINGS } from '@platen/adapters/setting/process.ts'
import { setting, table, type ValueOf } from '@platen/adapters/setting/setting.ts'
import { TRACE_SETTINGS } from '@platen/adapters/setting/trace.ts'
import { TRAFFIC_SETTINGS } from '@platen/adapters/setting/traffic.ts'
import { WEBHOOK_POLICY_SETTINGS } from '@platen/adapters/setting/webhook.ts'

export const SETTINGS = table({
  port: setting('PLATEN_PORT', PORT, { default: '8080', description: 'Port to listen on; 0 takes any free one.' }),
  idKeys: setting('PLATEN_ID_KEYS', KEY_RING, {
    description:
      'Keys of the render ids, base64url of at least 32 bytes each, separated by commas; the first signs, all verify. The same for all API processes.',
    isSecret: true,
  }),
  brand: brandSetting('The word in header names (`X-Service-Render-Id`) and key prefixes (`service_live_`).'),
  engines: setting('PLATEN_ENGINES', ENGINE_LIST, {
    default: 'react_pdf,html',
    description: 'Engines that this installation has renderers for; requests for other engines are answered 422.',
  }),
  webhooks: WEBHOOK_POLICY_SETTINGS,
  traffic: TRAFFIC_SETTINGS,
  traces: TRACE_SETTINGS,
  ...PROCESS_SETTINGS,
  ...CONNECTION_SETTINGS,
})

export type Config = ValueOf<typeof SETTINGS>
