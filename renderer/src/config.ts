/** docs/cluster.md is generated from this table. */
import { CONNECTION_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { ENGINE_LIST, RENDERER_SETTINGS } from '@platen/adapters/setting/engine.ts'
import { KEY, listOf, TENANTS } from '@platen/adapters/setting/format.ts'
import { PROCESS_SETTINGS } from '@platen/adapters/setting/process.ts'
import { setting, table, type ValueOf } from '@platen/adapters/setting/setting.ts'
import { slotsSetting } from '@platen/adapters/setting/slots.ts'
import { TRACE_SETTINGS } from '@platen/adapters/setting/trace.ts'
import { LANES } from '@platen/contract/domain/render.ts'

export const SETTINGS = table({
  engines: setting('PLATEN_ENGINES', ENGINE_LIST, {
    default: 'react_pdf,html',
    description: 'Engines that it renders with.',
  }),
  lanes: setting('PLATEN_LANES', listOf(LANES), {
    default: 'sync,async,bulk',
    description: 'Lanes that it takes renders from.',
  }),
  renderSlots: slotsSetting('PLATEN_RENDER_SLOTS', 'one sync render more may begin where other lanes are served too'),
  eventKey: setting('PLATEN_EVENT_KEY', KEY, {
    description: 'Secret of the event ids, base64url of at least 32 bytes; the same for all renderers.',
    isSecret: true,
  }),
  tenantsCounted: setting('PLATEN_TENANT_METRICS', TENANTS, {
    default: 'none',
    description:
      'Tenants whose renders are also counted by tenant and template, such as `acme,globex`; `*` means each of them, for an installation of some hundred templates.',
  }),
  ...RENDERER_SETTINGS,
  traces: TRACE_SETTINGS,
  ...PROCESS_SETTINGS,
  ...CONNECTION_SETTINGS,
})

export type Config = ValueOf<typeof SETTINGS>
