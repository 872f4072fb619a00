/** The settings of an operator. docs/cluster.md is generated from this table. */
import { REDIS_SETTINGS } from '@platen/adapters/setting/connection/redis.ts'
import { ARTIFACT_STORE_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { anyText, matching } from '@platen/adapters/setting/format.ts'
import { brandSetting, PROCESS_SETTINGS } from '@platen/adapters/setting/process.ts'
import { optional, setting, table, type ValueOf } from '@platen/adapters/setting/setting.ts'
import { SEAL_KEYS_SETTING } from '@platen/adapters/setting/webhook.ts'

const NAME = matching(
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
  'a name of Kubernetes: small letters, digits and dashes, at most 63',
)

export const SETTINGS = table({
  brand: brandSetting('Opens the prefix of generated API keys (`service_live_`).'),
  namespace: setting('PLATEN_NAMESPACE', NAME, {
    default: 'platen',
    description: 'Namespace of the operator itself: its Lease is there, and the webhook secrets it generates.',
  }),
  kubeconfig: optional('PLATEN_KUBECONFIG', anyText('a path'), {
    default: 'none',
    description:
      'Path of a kubeconfig; without one `KUBECONFIG`, `~/.kube/config` or the service account of the pod is taken.',
  }),
  sealKeys: SEAL_KEYS_SETTING,
  ...PROCESS_SETTINGS,
  redis: REDIS_SETTINGS,
  ...ARTIFACT_STORE_SETTINGS,
})

export type Config = ValueOf<typeof SETTINGS>
