/** What a Tenant needs before it is compiled: what its webhooks are signed with. */
import { type TenantResource, type Uid } from '@platen/contract/resource.ts'
import { ROTATE_ANNOTATION } from '@platen/contract/schema/resource.ts'
import type { Tenant } from '@platen/contract/tenant.ts'
import type { FoundSecret } from '@platen/settings/compile/tenant.ts'
import type { Declared } from '../reconcile/declared.ts'
import type { Station } from '../reconcile/station.ts'
import { settleWebhookSecret, type WebhookSecretPorts } from '../secret/settle-webhook-secret.ts'
import { annotationsOf, isAsTold, type SecretWatch } from './secret-watch.ts'

export interface TenantStationOptions {
  readonly ports: WebhookSecretPorts
  /** For compiling. */
  readonly webhookSecrets: Map<Uid, FoundSecret>
  readonly inForce: (uid: Uid) => Tenant | undefined
  readonly watch: SecretWatch
}

export function tenantStation({ ports, webhookSecrets, inForce, watch }: TenantStationOptions): Station {
  return {
    async prepare(declared, status, signal) {
      const resource = tenantIn(declared)
      const annotations = annotationsOf(declared, ROTATE_ANNOTATION)
      const settled = await settleWebhookSecret({ resource, annotations, status }, ports, signal)
      webhookSecrets.set(resource.metadata.uid, settled.found)
      const told = watch.settled(resource, settled)
      return { known: { ...settled.status }, ...told, ...(settled.again && { again: settled.again }) }
    },
    recall(declared, { webhookSecret, ...status }) {
      const resource = tenantIn(declared)
      const { webhookSecrets: secrets = [] } = inForce(resource.metadata.uid) ?? {}
      if (webhookSecret === undefined || secrets.length !== 1 || !isAsTold(declared, status)) return undefined
      watch.recalled(resource)
      return { webhookSecret, ...(status.rotation !== undefined && { rotation: status.rotation }) }
    },
    forget({ metadata }) {
      webhookSecrets.delete(metadata.uid)
      watch.forget(metadata.uid)
    },
  }
}

function tenantIn({ resource }: Declared): TenantResource {
  if (resource.kind !== 'Tenant') throw new TypeError('this is the station of Tenants')
  return resource
}
