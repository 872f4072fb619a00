/**
 * Keeps the results of all resources current, one change at a time, for a cluster and for a folder. A change recompiles only the few
 * resources that it affects, out of thousands of tenants. The results are as if everything were compiled again. Pure apart from its memory.
 */

import type {
  ApiKeyResource,
  PlanResource,
  Resource,
  TemplateResource,
  TenantResource,
  Uid,
} from '@platen/contract/domain/resource.ts'
import { type ApiKey, type Limits, TEMPLATES_MAX, type Template, type Tenant } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { compileApiKeys, withinLimit } from '../compile/api-key.ts'
import { byAge, type CompileResult, type CompileResults } from '../compile/compile-result.ts'
import { compileTemplates } from '../compile/template.ts'
import { compilePlans, compileTenants, findTenant, type TenantsByName } from '../compile/tenant.ts'
import { applyReplacements, type CompiledSettings, NO_SETTINGS } from './compiled-settings.ts'
import type { Relations } from './relation.ts'
import { type CompilationOptions, type CompilationState, openCompilationState } from './state.ts'

export interface ResourceChange {
  readonly uid: Uid
  /** Absent when the resource is gone, or treated as gone. */
  readonly resource?: Resource
}

interface Update {
  /** Resources whose settings or conditions changed, including removed ones. */
  readonly changed: ReadonlySet<Uid>
  /** Only those whose settings changed. The processes that enforce settings must learn of them. */
  readonly settingsChanged: ReadonlySet<Uid>
}

interface Results {
  readonly plans: CompileResults<PlanResource, Limits>
  readonly tenants: CompileResults<TenantResource, Tenant>
  readonly templates: CompileResults<TemplateResource, Template>
  readonly apiKeys: CompileResults<ApiKeyResource, readonly ApiKey[]>
}

export type AnyCompileResult =
  | CompileResult<PlanResource, Limits>
  | CompileResult<TenantResource, Tenant>
  | CompileResult<TemplateResource, Template>
  | CompileResult<ApiKeyResource, readonly ApiKey[]>

export interface Compilation extends Pick<Relations, 'tenantsOf' | 'dependentsOf'> {
  /**
   * Compiles everything that the changes affect, and everything due by `now`. When the facts of a resource changed, pass the resource as a
   * change.
   */
  readonly update: (changes: readonly ResourceChange[], now: Instant) => Update
  /** Unchanged maps and settings are the same objects as before. */
  readonly settings: () => CompiledSettings
  /** The maps change with each update. */
  readonly results: Results
  readonly resultOf: (uid: Uid) => AnyCompileResult | undefined
  /** Before the first update, the settings from before the start. */
  readonly tenantInForce: (uid: Uid) => Tenant | undefined
  /** Whether the tenant that a template names accepts it, as of the last compile. */
  readonly accepts: (resource: TemplateResource) => boolean
  /** The end of the next overlap, which changes a setting without a change of a resource. Undefined when no overlap runs. */
  readonly nextDueAt: () => Instant | undefined
}

/** The first update must contain all resources. */
export function openCompilation(options: CompilationOptions): Compilation {
  const state = openCompilationState(options)
  const { relations, plans, tenants, templates, apiKeys, dueAt } = state
  const kinds = [plans, tenants, templates, apiKeys]
  let content = NO_SETTINGS
  return {
    update(changes, now) {
      compileChanges(state, changes, now)
      const changed = new Set(kinds.flatMap(({ changes: { uids } }) => [...uids]))
      const settingsChanged = new Set(kinds.flatMap(({ changes: { replacements } }) => [...replacements.keys()]))
      content = applyReplacements(content, {
        tenants: [...tenants.changes.replacements.values()],
        keys: [...apiKeys.changes.replacements.values()],
        templates: [...templates.changes.replacements.values()],
      })
      for (const uid of settingsChanged) setDueAt(state, uid)
      for (const kind of kinds) kind.clearChanges()
      return { changed, settingsChanged }
    },
    settings: () => content,
    results: { plans: plans.results, tenants: tenants.results, templates: templates.results, apiKeys: apiKeys.results },
    resultOf: (uid) =>
      plans.results.get(uid) ?? tenants.results.get(uid) ?? templates.results.get(uid) ?? apiKeys.results.get(uid),
    tenantInForce: (uid) => tenants.inForce.get(uid)?.settings,
    accepts: (resource) => 'tenant' in findTenant(resource, tenantsByName(state)) && mayBeInForce(state, resource),
    tenantsOf: relations.tenantsOf,
    dependentsOf: relations.dependentsOf,
    nextDueAt: () => (dueAt.size === 0 ? undefined : Math.min(...dueAt.values())),
  }
}

/** Resources whose result may change. */
interface Affected {
  readonly uids: Set<Uid>
  /** Names of affected plans and tenants. A plan affects its tenants; a tenant affects its templates and keys. */
  readonly plans: Set<string>
  readonly tenants: Set<string>
  /** Names of tenants whose templates or keys may have changed. */
  readonly owners: Set<string>
}

function compileChanges(state: CompilationState, changes: readonly ResourceChange[], now: Instant): void {
  const { relations, plans, tenants, templates, apiKeys } = state
  const uids = new Set(changes.map(({ uid }) => uid))
  for (const [uid, due] of state.dueAt) if (due <= now) uids.add(uid)
  // Resources that conflicted with a changed one may no longer conflict.
  for (const kind of [tenants, templates, apiKeys]) for (const uid of kind.withConflicting(uids)) uids.add(uid)
  const affected: Affected = { uids, plans: new Set(), tenants: new Set(), owners: new Set() }
  /** Plans that may have come into use or out of use. */
  const counted = new Set<string>()
  for (const { uid, resource } of changes) {
    const before = relations.resourceOf(uid)
    // If the resource is the same, only facts changed. They concern others through its names and settings, which are compared below.
    for (const each of before === resource ? [] : [before, resource]) {
      if (each?.kind === 'Plan') affected.plans.add(each.metadata.name)
      if (each?.kind === 'Tenant') affected.tenants.add(each.metadata.name)
      if (each?.kind === 'Tenant') counted.add(each.spec.planRef.name)
      if (each?.kind === 'Template' || each?.kind === 'ApiKey') affected.owners.add(each.spec.tenantRef.name)
    }
    relations.set(uid, resource)
    if (resource === undefined) for (const kind of [plans, tenants, templates, apiKeys]) kind.remove(uid)
    else if (resource.kind === 'Tenant') tenants.indexNames(resource)
    else if (resource.kind === 'Template') templates.indexNames(resource)
    else if (resource.kind === 'ApiKey') apiKeys.indexNames(resource)
  }
  recompilePlans(state, new Set([...affected.plans, ...counted]))
  recompileTenants(state, affected, now)
  recompileDependents(state, affected, now)
}

function recompilePlans({ relations, plans, defaults }: CompilationState, names: ReadonlySet<string>): void {
  const found = [...names].flatMap((name) => relations.byName('Plan', name) ?? [])
  const resources = found.filter((resource) => resource.kind === 'Plan').sort(byAge)
  const isInUse = (name: string) => relations.tenantsOf(name).size > 0
  plans.setResults(compilePlans({ plans: resources, isInUse, defaults, previous: plans.inForce }))
}

function recompileTenants(
  state: CompilationState,
  { uids, plans: names, tenants: affectedTenants }: Affected,
  now: Instant,
): void {
  const { relations, plans, tenants, facts, serviceBucket } = state
  for (const name of names) for (const uid of relations.tenantsOf(name)) uids.add(uid)
  for (const uid of tenants.withConflicting(uids)) uids.add(uid)
  const resources = resourcesOf(state, uids).filter((resource) => resource.kind === 'Tenant')
  const named = new Set(resources.map(({ spec }) => spec.planRef.name))
  const planResults = [...named].flatMap((name) => {
    const uid = relations.byName('Plan', name)?.metadata.uid
    return (uid && plans.results.get(uid)) ?? []
  })
  const input = { ...facts, serviceBucket, now, tenants: resources, plans: planResults, previous: tenants.inForce }
  tenants.setResults(compileTenants(input))
  for (const uid of tenants.changes.replacements.keys()) {
    const resource = relations.resourceOf(uid)
    if (resource !== undefined) affectedTenants.add(resource.metadata.name)
  }
}

function recompileDependents(state: CompilationState, { uids, tenants: names, owners }: Affected, now: Instant): void {
  const { relations, templates, apiKeys, facts } = state
  for (const name of names) for (const uid of relations.dependentsOf(name)) uids.add(uid)
  for (const name of names.union(owners)) for (const uid of updateAllowed(state, name)) uids.add(uid)
  for (const kind of [templates, apiKeys]) for (const uid of kind.withConflicting(uids)) uids.add(uid)
  const resources = resourcesOf(state, uids)
  const ofTemplates = resources.filter((resource) => resource.kind === 'Template')
  const ofKeys = resources.filter((resource) => resource.kind === 'ApiKey')
  const isWithinLimit = (resource: TemplateResource | ApiKeyResource) => isAllowed(state, resource)
  const given = { ...facts, isWithinLimit, tenants: tenantsByName(state), now }
  templates.setResults(compileTemplates({ ...given, templates: ofTemplates, previous: templates.inForce }))
  apiKeys.setResults(compileApiKeys({ ...given, apiKeys: ofKeys, previous: apiKeys.inForce }))
}

const LIMITED = ['Template', 'ApiKey'] as const

/** Returns the templates and keys of a tenant that are newly within its limits, or no longer. */
function updateAllowed(state: CompilationState, name: string): readonly Uid[] {
  const { relations, allowed } = state
  const tenant = tenantsByName(state).get(name)
  return LIMITED.flatMap((kind) => {
    const key = `${kind} ${name}`
    const before = allowed.get(key) ?? new Set()
    const after = tenant === undefined ? new Set<Uid>() : withinLimit(tenant, kind, relations.oldestFirst(kind, name))
    if (after.size === 0) allowed.delete(key)
    else allowed.set(key, after)
    return [...before.symmetricDifference(after)]
  })
}

function isAllowed(
  { allowed }: CompilationState,
  { kind, metadata, spec }: TemplateResource | ApiKeyResource,
): boolean {
  return allowed.get(`${kind} ${spec.tenantRef.name}`)?.has(metadata.uid) === true
}

/** Whether a template is within the limit of its tenant, or will be when it is first compiled. */
function mayBeInForce(state: CompilationState, resource: TemplateResource): boolean {
  const { relations, allowed } = state
  if (relations.resourceOf(resource.metadata.uid) !== undefined) return isAllowed(state, resource)
  return (allowed.get(`Template ${resource.spec.tenantRef.name}`)?.size ?? 0) < TEMPLATES_MAX
}

function tenantsByName({ relations, tenants }: CompilationState): TenantsByName {
  return {
    get(name) {
      const uid = relations.byName('Tenant', name)?.metadata.uid
      return uid && tenants.results.get(uid)
    },
  }
}

function resourcesOf({ relations }: CompilationState, uids: ReadonlySet<Uid>): readonly Resource[] {
  return [...uids].flatMap((uid) => relations.resourceOf(uid) ?? []).sort(byAge)
}

function setDueAt({ tenants, apiKeys, dueAt }: CompilationState, uid: Uid): void {
  const secrets = tenants.results.get(uid)?.settings?.webhookSecrets ?? []
  // The first setting is the current key, whose expiry needs no new compile.
  const [, ...replaced] = apiKeys.results.get(uid)?.settings ?? []
  const ends = [...secrets.flatMap(({ until }) => until ?? []), ...replaced.flatMap(({ expiresAt }) => expiresAt ?? [])]
  if (ends.length === 0) dueAt.delete(uid)
  else dueAt.set(uid, Math.min(...ends))
}
