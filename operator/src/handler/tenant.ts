/** Prepares a Tenant for compiling: finds the secret that signs its webhooks. Orders the erasure of its renders when it is deleted. */

import type { TenantResource, Uid } from '@platen/contract/domain/resource.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import { signingSecretsOf } from '@platen/contract/domain/webhook-secret.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { type FoundSecret, storageOf } from '@platen/settings/compile/tenant.ts'
import { type ErasureOrderStore, orderErasure } from '@platen/settings/publish/order-erasure.ts'
import type { KindHandler } from '../reconcile/kind-handler.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'
import { reconcileWebhookSecret, type WebhookSecretPorts } from '../secret/reconcile-webhook-secret.ts'
import type { AccountCheck } from './account.ts'
import { isUpToDate, type SecretTracker } from './secret-tracker.ts'

interface TenantHandlerOptions {
  readonly ports: WebhookSecretPorts & ErasureOrderStore
  /** Read by the compilation. */
  readonly webhookSecrets: Map<Uid, FoundSecret>
  readonly inForce: (uid: Uid) => Tenant | undefined
  readonly accounts: AccountCheck
  readonly tracker: SecretTracker
}

export function tenantHandler({
  ports,
  webhookSecrets,
  inForce,
  accounts,
  tracker,
}: TenantHandlerOptions): KindHandler {
  return {
    async prepare(view, status, signal) {
      const resource = tenantOf(view)
      const accountRetryAt = await accounts.run(resource, signal)
      const reconciled = await reconcileWebhookSecret({ resource, rotation: view.rotation, status }, ports, signal)
      webhookSecrets.set(
        resource.metadata.uid,
        withReadability(reconciled.found, inForce(resource.metadata.uid), ports),
      )
      const { retryAt, ...tracked } = tracker.onReconciled(resource, reconciled)
      return { statusFields: reconciled.status, ...tracked, ...earliest(retryAt, accountRetryAt) }
    },
    restore(view, { webhookSecret, ...status }) {
      const resource = tenantOf(view)
      accounts.begin(resource)
      const { webhookSecrets: secrets = [] } = inForce(resource.metadata.uid) ?? {}
      if (webhookSecret === undefined || secrets.length !== 1 || !isUpToDate(view, status)) return undefined
      tracker.onRestored(resource)
      return { webhookSecret, ...(status.rotation !== undefined && { rotation: status.rotation }) }
    },
    async beforeRemoval(resource, signal) {
      if (resource.kind !== 'Tenant' || resource.spec.deletionPolicy !== 'Delete') return
      // The renders belong to the other Tenant.
      if (accounts.olderOwner(resource) !== undefined) return
      const { name, account } = resource.metadata
      const storage = storageOf(resource, ports.serviceBucket)
      await orderErasure({ tenant: name, account, storage }, ports, signal)
    },
    forget(resource) {
      webhookSecrets.delete(resource.metadata.uid)
      if (resource.kind === 'Tenant') accounts.forget(resource)
      tracker.forget(resource)
    },
  }
}

function earliest(...times: readonly (Instant | undefined)[]): { readonly retryAt?: Instant } {
  const known = times.flatMap((time) => time ?? [])
  return known.length === 0 ? {} : { retryAt: Math.min(...known) }
}

/** Says of a missing secret whether the published ones still sign. */
function withReadability(
  found: FoundSecret,
  tenant: Tenant | undefined,
  { sealKeys, clock }: WebhookSecretPorts,
): FoundSecret {
  if (!('fault' in found) || tenant?.webhookSecrets === undefined) return found
  return { ...found, isUnreadable: signingSecretsOf(tenant, sealKeys(), clock.now()) === undefined }
}

function tenantOf({ resource }: ResourceView): TenantResource {
  if (resource.kind !== 'Tenant') throw new TypeError('expected a Tenant')
  return resource
}
