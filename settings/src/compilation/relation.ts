/** All resources, and which of them name each other. */
import type { ApiKeyResource, Resource, TemplateResource, Uid } from '@platen/contract/domain/resource.ts'
import { byAge } from '../compile/compile-result.ts'
import { openMultimap } from './conflict-index.ts'

export interface Relations {
  readonly resourceOf: (uid: Uid) => Resource | undefined
  /** Undefined removes the resource. */
  readonly set: (uid: Uid, resource: Resource | undefined) => void
  readonly byName: (kind: 'Plan' | 'Tenant', name: string) => Resource | undefined
  readonly tenantsOf: (plan: string) => ReadonlySet<Uid>
  readonly dependentsOf: (tenant: string) => ReadonlySet<Uid>
  readonly oldestFirst: (kind: Dependent['kind'], tenant: string) => readonly Dependent[]
}

type Dependent = ApiKeyResource | TemplateResource

export function openRelations(): Relations {
  const resources = new Map<Uid, Resource>()
  /** Plans and tenants, the kinds that others name. */
  const named = new Map<string, Uid>()
  const tenantsOfPlan = openMultimap<string, Uid>()
  const dependents = openMultimap<string, Uid>()
  const sorted = new Map<string, Dependent[]>()
  const index = (resource: Resource, verb: 'add' | 'delete') => {
    const { uid } = resource.metadata
    if (resource.kind === 'Tenant') tenantsOfPlan[verb](resource.spec.planRef.name, uid)
    if (resource.kind !== 'Template' && resource.kind !== 'ApiKey') return
    dependents[verb](resource.spec.tenantRef.name, uid)
    indexByAge(resource, verb)
  }
  const indexByAge = (resource: Dependent, verb: 'add' | 'delete') => {
    const name = `${resource.kind} ${resource.spec.tenantRef.name}`
    const own = sorted.get(name) ?? []
    if (verb === 'add') own.splice(insertionIndex(own, resource), 0, resource)
    else own.splice(own.indexOf(resource), 1)
    if (own.length === 0) sorted.delete(name)
    else sorted.set(name, own)
  }
  return {
    resourceOf: (uid) => resources.get(uid),
    set(uid, resource) {
      const before = resources.get(uid)
      if (before !== undefined) {
        index(before, 'delete')
        const name = nameOf(before)
        // Another resource may have the name by now.
        if (name !== undefined && named.get(name) === uid) named.delete(name)
      }
      resources.delete(uid)
      if (resource === undefined) return
      resources.set(uid, resource)
      const name = nameOf(resource)
      if (name !== undefined) named.set(name, uid)
      index(resource, 'add')
    },
    byName(kind, name) {
      const uid = named.get(`${kind} ${name}`)
      return uid && resources.get(uid)
    },
    tenantsOf: tenantsOfPlan.get,
    dependentsOf: dependents.get,
    oldestFirst: (kind, tenant) => sorted.get(`${kind} ${tenant}`) ?? [],
  }
}

/** The number of older resources in a list that is sorted by age. */
function insertionIndex(sorted: readonly Resource[], resource: Resource): number {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const other = sorted[middle]
    if (other !== undefined && byAge(other, resource) < 0) from = middle + 1
    else to = middle
  }
  return from
}

/** Undefined for kinds that nobody names. */
function nameOf({ kind, metadata }: Resource): string | undefined {
  return kind === 'Plan' || kind === 'Tenant' ? `${kind} ${metadata.name}` : undefined
}
