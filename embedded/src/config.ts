/** The settings of the embedded service. docs/embedded.md is generated from this table. */
import { RENDERER_SETTINGS } from '@platen/adapters/setting/engine.ts'
import { anyText, BASE_URL, KEY_RING, PATH, PORT } from '@platen/adapters/setting/format.ts'
import { brandSetting, LOG_LEVEL_SETTING } from '@platen/adapters/setting/process.ts'
import { optional, setting, table, type ValueOf } from '@platen/adapters/setting/setting.ts'
import { slotsSetting } from '@platen/adapters/setting/slots.ts'
import { TRACE_SETTINGS } from '@platen/adapters/setting/trace.ts'
import { TRAFFIC_SETTINGS } from '@platen/adapters/setting/traffic.ts'
import { WEBHOOK_SETTINGS } from '@platen/adapters/setting/webhook.ts'
import { DATA_DIR_DEFAULT } from './data-dir.ts'

export const SETTINGS = table({
  port: setting('PLATEN_PORT', PORT, { default: '8080', description: 'Port to listen on; 0 takes any free one.' }),
  host: setting('PLATEN_HOST', anyText('an address'), {
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` for every interface.',
  }),
  dataDir: setting('PLATEN_DATA_DIR', PATH, {
    default: DATA_DIR_DEFAULT,
    description: 'Folder of everything that must last: database, PDFs, generated keys. One process at a time.',
  }),
  manifestsDir: setting('PLATEN_MANIFESTS_DIR', PATH, {
    default: './examples',
    description: 'Folder of the YAML manifests of plans, tenants, templates and API keys.',
  }),
  publicUrl: optional('PLATEN_PUBLIC_URL', BASE_URL, {
    default: 'the listen address',
    description: 'Where callers reach this service (`https://pdf.example.com`); `pdf_url` begins with it.',
  }),
  idKeys: optional('PLATEN_ID_KEYS', KEY_RING, {
    default: 'generated in the data folder',
    description:
      'Keys of the render ids, base64url of at least 32 bytes each, separated by commas; the first signs, all verify.',
    isSecret: true,
  }),
  brand: brandSetting('The word in header names (`X-Service-Render-Id`) and key prefixes (`service_live_`).'),
  ...RENDERER_SETTINGS,
  webhooks: WEBHOOK_SETTINGS,
  traffic: TRAFFIC_SETTINGS,
  traces: TRACE_SETTINGS,
  metricsPort: optional('PLATEN_METRICS_PORT', PORT, {
    default: 'none',
    description:
      'Port of `/livez`, `/readyz` and, for Prometheus, `/metrics`, on the address of `PLATEN_HOST`; 0 takes any free one.',
  }),
  logLevel: LOG_LEVEL_SETTING,
  renderSlots: slotsSetting('PLATEN_RENDER_SLOTS', 'one sync render more may always begin'),
})

export type Config = ValueOf<typeof SETTINGS>
