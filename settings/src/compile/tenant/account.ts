/** Decides which Tenant has an account. Renders, quota and rates belong to the account, so two Tenants never share one. */

import type { TenantResource, Uid } from '@platen/contract/domain/resource.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { type Finding, fails, labelOf } from '../condition.ts'

/** By the Tenant's uid. */
export type AccountRefusals = ReadonlyMap<Uid, Finding>

/** An account belongs to its oldest Tenant. */
export function refusedAccounts(oldestFirst: readonly TenantResource[], others: AccountRefusals): AccountRefusals {
  const owners = new Map<string, TenantResource>()
  const refused = new Map<Uid, Finding>()
  for (const tenant of oldestFirst) {
    const { account, uid } = tenant.metadata
    const owner = owners.get(account)
    if (owner === undefined) owners.set(account, tenant)
    const refusal = owner === undefined ? others.get(uid) : accountTaken(owner)
    if (refusal !== undefined) refused.set(uid, refusal)
  }
  return refused
}

export function accountTaken(owner: TenantResource): Finding {
  const message = `${labelOf(owner)} is older and has the account ${owner.metadata.account}; this one waits until that is gone`
  return fails('Accepted', 'AccountTaken', message)
}

export function accountErased(account: string, endsAt: Instant): Finding {
  const until = new Date(endsAt).toISOString()
  const message = `renders of the account ${account} are being erased until ${until}, as its last Tenant was removed with deletionPolicy Delete; wait, or create the Tenant again with another accountId`
  return fails('Accepted', 'AccountErased', message)
}

/** Only happens in a folder: Kubernetes refuses the change. */
export function accountIdChanged({ metadata: { account }, spec: { accountId } }: TenantResource): Finding | undefined {
  if (accountId === undefined || accountId === account) return undefined
  return fails('Accepted', 'AccountIdChanged', `accountId cannot be changed: the account of this tenant is ${account}`)
}
