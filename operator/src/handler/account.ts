/**
 * Tells whether the account that a Tenant declares is free. The compilation gives an account to the oldest Tenant, but knows neither
 * Tenants that are being deleted nor the erasures they ordered. A Tenant that took their account at once would see what is being erased,
 * and its own renders would be erased with it.
 */

import type { TenantResource, Uid } from '@platen/contract/domain/resource.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { byAge } from '@platen/settings/compile/compile-result.ts'
import { type Finding, fails } from '@platen/settings/compile/condition.ts'
import { accountErased, accountTaken } from '@platen/settings/compile/tenant/account.ts'
import { type ErasureOrderStore, erasureEndsAt } from '@platen/settings/publish/order-erasure.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'

const SECOND_MS = 1000

/** How often a Tenant checks whether the account that it declares is free. */
export const ACCOUNT_RETRY_MS = 10 * SECOND_MS

interface AccountCheckOptions {
  readonly ports: ErasureOrderStore
  /** Includes resources that are being deleted. */
  readonly views: () => readonly ResourceView[]
  readonly inForce: (uid: Uid) => Tenant | undefined
  /** Read by the compilation. */
  readonly refusals: Map<Uid, Finding>
}

export class AccountCheck {
  readonly #options: AccountCheckOptions

  constructor(options: AccountCheckOptions) {
    this.#options = options
  }

  /** Refuses the account until it is checked, unless the Tenant has it already. An account that is the Tenant's uid is always free. */
  begin({ metadata, spec }: TenantResource): void {
    const { inForce, refusals } = this.#options
    if (spec.accountId === undefined || inForce(metadata.uid) !== undefined || refusals.has(metadata.uid)) return
    refusals.set(metadata.uid, NOT_CHECKED)
  }

  /** Returns when to check again if the account is not free. Throws `Unavailable`. */
  async run(resource: TenantResource, signal: AbortSignal): Promise<Instant | undefined> {
    const { ports, refusals } = this.#options
    const { uid, account } = resource.metadata
    this.begin(resource)
    if (!refusals.has(uid)) return undefined
    const owner = this.olderOwner(resource)
    const endsAt = owner === undefined ? await erasureEndsAt(account, ports, signal) : undefined
    if (owner === undefined && endsAt === undefined) {
      refusals.delete(uid)
      return undefined
    }
    refusals.set(uid, owner === undefined ? accountErased(account, endsAt ?? 0) : accountTaken(owner))
    return ports.clock.now() + ACCOUNT_RETRY_MS
  }

  /** The oldest other Tenant with the account, if it is older than this one. */
  olderOwner(resource: TenantResource): TenantResource | undefined {
    const { account, uid } = resource.metadata
    const others = this.#options
      .views()
      .flatMap(({ resource: each }) => (each.kind === 'Tenant' && each.metadata.account === account ? [each] : []))
      .filter((each) => each.metadata.uid !== uid && byAge(each, resource) < 0)
    return others.toSorted(byAge)[0]
  }

  forget({ metadata }: TenantResource): void {
    this.#options.refusals.delete(metadata.uid)
  }
}

const NOT_CHECKED = fails('Accepted', 'StoreUnavailable', 'it is not known yet whether the account is being erased')
