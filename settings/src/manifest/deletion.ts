/**
 * `deletionPolicy: Delete` in a folder of manifests. The manifest of a removed tenant is gone, and with it the policy. So the policy is
 * kept with the tenant's identity for as long as the tenant exists.
 */
import type { Resource, TenantResource, Uid } from '@platen/contract/domain/resource.ts'
import type { InForceBefore } from '../compilation/state.ts'
import { type Finding, labelOf } from '../compile/condition.ts'
import { type AccountRefusals, accountErased } from '../compile/tenant/account.ts'
import { storageOf } from '../compile/tenant.ts'
import { type ErasureOrderStore, erasureEndsAt, orderErasure } from '../publish/order-erasure.ts'
import { accountOf, type Identities, type Identity } from './identity.ts'

/** Returns `identities` itself if nothing changed. */
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

/** Orders the erasure of the tenants that are gone. Call it before their identities are forgotten, so that a kill loses no order. */
export async function orderErasures(
  { before, after }: { readonly before: Identities; readonly after: Identities },
  store: ErasureOrderStore,
  signal: AbortSignal,
): Promise<void> {
  for (const [place, identity] of Object.entries(before)) {
    const { uid, erasedFrom } = identity
    const [, tenant] = /^Tenant (.+)$/.exec(place) ?? []
    if (tenant === undefined || erasedFrom === undefined || after[place]?.uid === uid) continue
    // The renders belong to the other tenant.
    if (hasOlderOwner(place, before)) continue
    await orderErasure({ tenant, account: accountOf(identity), storage: erasedFrom }, store, signal)
  }
}

/** Whether an older tenant has the account of this one, in the order of `byAge`. */
function hasOlderOwner(place: string, identities: Identities): boolean {
  const own = identities[place]
  if (own?.accountId === undefined) return false
  const isOlder = ([other, { createdAt }]: readonly [string, Identity]) =>
    createdAt < own.createdAt || (createdAt === own.createdAt && other < place)
  return Object.entries(identities).some(
    (each) => each[0].startsWith('Tenant ') && accountOf(each[1]) === own.accountId && isOlder(each),
  )
}

/** Refuses tenants that declare an account which is being erased. A tenant in force already has its account for itself. */
export async function findErasedAccounts(
  resources: readonly Resource[],
  { previous, store }: { readonly previous: Pick<InForceBefore, 'tenants'>; readonly store: ErasureOrderStore },
  signal: AbortSignal,
): Promise<AccountRefusals> {
  const refusals = new Map<Uid, Finding>()
  for (const { kind, metadata, spec } of resources) {
    if (kind !== 'Tenant' || spec.accountId === undefined) continue
    if (previous.tenants.get(metadata.uid)?.settings !== undefined) continue
    const endsAt = await erasureEndsAt(metadata.account, store, signal)
    if (endsAt !== undefined) refusals.set(metadata.uid, accountErased(metadata.account, endsAt))
  }
  return refusals
}
