/**
 * `deletionPolicy: Delete` in a folder of manifests. When a tenant is removed, its manifest is gone, and with it the policy. So the policy
 * is kept with the tenant's identity for as long as the tenant exists.
 */
import type { Resource, TenantResource } from '@platen/contract/resource.ts'
import { labelOf } from '../compile/condition.ts'
import { storageOf } from '../compile/tenant.ts'
import { type ErasureOrderStore, orderErasure } from '../publish/order-erasure.ts'
import type { Identities } from './identity.ts'

/** Keeps the policy of every tenant in its identity; `identities` itself if nothing changed. */
export function keepDeletions(
  resources: readonly Resource[],
  identities: Identities,
  serviceBucket: string,
): Identities {
  const tenants = resources.filter((resource): resource is TenantResource => resource.kind === 'Tenant')
  const changed = tenants.flatMap((tenant): readonly (readonly [string, Identities[string]])[] => {
    const place = labelOf(tenant)
    const identity = identities[place]
    if (identity === undefined) return []
    const { erasedFrom: before, ...rest } = identity
    const after = tenant.spec.deletionPolicy === 'Delete' ? storageOf(tenant, serviceBucket) : undefined
    if (before?.bucket === after?.bucket && before?.prefix === after?.prefix) return []
    return [[place, { ...rest, ...(after && { erasedFrom: after }) }]]
  })
  return changed.length === 0 ? identities : { ...identities, ...Object.fromEntries(changed) }
}

/** Orders the erasure of the tenants that are gone. Comes before their identities are forgotten, so that a kill loses no order. */
export async function orderErasures(
  { before, after }: { readonly before: Identities; readonly after: Identities },
  store: ErasureOrderStore,
  signal: AbortSignal,
): Promise<void> {
  for (const [place, { uid, erasedFrom }] of Object.entries(before)) {
    const [, tenant] = /^Tenant (.+)$/.exec(place) ?? []
    if (tenant === undefined || erasedFrom === undefined || after[place]?.uid === uid) continue
    await orderErasure({ tenant, account: uid, storage: erasedFrom }, store, signal)
  }
}
