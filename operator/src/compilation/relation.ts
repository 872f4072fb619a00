/** All resources there are, and who names whom. */
import type { Resource, Uid } from '@platen/contract/resource.ts'
import { openMultimap } from './claim-index.ts'

export interface Relations {
  readonly resourceOf: (uid: Uid) => Resource | undefined
  /** Replaces a resource; absent = it is gone. */
  readonly set: (uid: Uid, resource: Resource | undefined) => void
  readonly named: (kind: 'Plan' | 'Tenant', name: string) => Resource | undefined
  /** The tenants that name a plan. */
  readonly tenantsOf: (plan: string) => ReadonlySet<Uid>
  /** The templates and keys that name a tenant. */
  readonly dependentsOf: (tenant: string) => ReadonlySet<Uid>
}

/** Nobody and nothing. */
export function openRelations(): Relations {
  const resources = new Map<Uid, Resource>()
  const named = new Map<string, Uid>()
  const tenantsOfPlan = openMultimap<string, Uid>()
  const dependents = openMultimap<string, Uid>()
  const tie = (resource: Resource, verb: 'add' | 'delete') => {
    const { uid } = resource.metadata
    if (resource.kind === 'Tenant') tenantsOfPlan[verb](resource.spec.planRef.name, uid)
    if (resource.kind === 'Template' || resource.kind === 'ApiKey') dependents[verb](resource.spec.tenantRef.name, uid)
  }
  return {
    resourceOf: (uid) => resources.get(uid),
    set(uid, resource) {
      const before = resources.get(uid)
      if (before !== undefined) {
        tie(before, 'delete')
        // Its name may be another's by now.
        if (named.get(nameOf(before)) === uid) named.delete(nameOf(before))
      }
      resources.delete(uid)
      if (resource === undefined) return
      resources.set(uid, resource)
      named.set(nameOf(resource), uid)
      tie(resource, 'add')
    },
    named(kind, name) {
      const uid = named.get(`${kind} ${name}`)
      return uid && resources.get(uid)
    },
    tenantsOf: tenantsOfPlan.get,
    dependentsOf: dependents.get,
  }
}

/** Only plans and tenants are looked for by it. */
function nameOf({ kind, metadata }: Resource): string {
  return `${kind} ${metadata.name}`
}
