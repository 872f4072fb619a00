/** The settings of an API process. docs/cluster.md is generated from this table. */
import { CONNECTION_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { ENGINE_LIST } from '@platen/adapters/setting/engine.ts'
import { integer, KEY_RING, PORT } from '@platen/adapters/setting/format.ts'
import { brandSetting, DOCS_SETTING, PROCESS_SETTINGS } from '@platen/adapters/setting/process.ts'
import { optional, setting, table, type ValueOf } from '@platen/adapters/setting/setting.ts'
import { TRAFFIC_SETTINGS } from '@platen/adapters/setting/traffic.ts'
import { WEBHOOK_POLICY_SETTINGS } from '@platen/adapters/setting/webhook.ts'

const REPLICAS = integer([1, 1000])

import { TRACE_SETTINGS } from '@platen/adapters/setting/trace.ts'

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
  replicas: optional('PLATEN_API_REPLICAS', REPLICAS, {
    default: 'the last number known from Redis',
    description: `Number of API processes that share the limits while Redis is unavailable: ${REPLICAS.range}.`,
  }),
  webhooks: WEBHOOK_POLICY_SETTINGS,
  traffic: TRAFFIC_SETTINGS,
  hasDocs: DOCS_SETTING,
  traces: TRACE_SETTINGS,
  ...PROCESS_SETTINGS,
  ...CONNECTION_SETTINGS,
})

export type Config = ValueOf<typeof SETTINGS>
