/**
 * What `compile` makes of all resources, kept up to date one change at a time: of thousands of tenants a change compiles the few it
 * concerns, by the same steps, to the same settings and conditions as if all were compiled anew. Pure but for what it remembers.
 */
import type { Instant } from '@platen/contract/brand.ts'
import type { ApiKeyResource, Resource, TemplateResource, Uid } from '@platen/contract/resource.ts'
import type { Tenant } from '@platen/contract/tenant.ts'
import { compileApiKeys, placesOf } from '@platen/settings/compile/api-key.ts'
import { byAge, type Outcome } from '@platen/settings/compile/outcome.ts'
import { compileTemplates } from '@platen/settings/compile/template.ts'
import { compilePlans, compileTenants, findTenant, type TenantsByName } from '@platen/settings/compile/tenant.ts'
import { type Content, NO_CONTENT, replaceIn } from './content.ts'
import type { Relations } from './relation.ts'
import { type CompilationOptions, openState, type State } from './state.ts'

export interface Change {
  readonly uid: Uid
  /** As it is now; absent = it is gone, or is to be treated so. */
  readonly resource?: Resource
}

export interface Update {
  /** Whose settings or conditions are not what they were, those that are gone included. */
  readonly changed: ReadonlySet<Uid>
  /** Those of them whose settings are not: whoever enforces them has to learn of it. */
  readonly resettled: ReadonlySet<Uid>
}

export interface Compilation extends Pick<Relations, 'tenantsOf' | 'dependentsOf'> {
  /** Takes changes, and compiles what they concern, and what was due by `now`. A resource whose facts changed is a change, too. */
  readonly update: (changes: readonly Change[], now: Instant) => Update
  /** The settings in force. Of a kind in which nothing changed, it is the same map as before; so is each setting. */
  readonly content: () => Content
  readonly outcomeOf: (uid: Uid) => Outcome<Resource, unknown> | undefined
  /** What is in force of a tenant; before the first update, what was. */
  readonly tenantInForce: (uid: Uid) => Tenant | undefined
  /** Does the tenant it names have it, as far as is compiled? */
  readonly accepts: (resource: TemplateResource) => boolean
  /** When the next overlap ends, and with it a setting changes by itself; absent = none does. */
  readonly due: () => Instant | undefined
}

/** Nothing is compiled yet; the first update takes all there is. */
export function openCompilation(options: CompilationOptions): Compilation {
  const state = openState(options)
  const { relations, plans, tenants, templates, apiKeys, dueAt } = state
  const kinds = [plans, tenants, templates, apiKeys]
  let content = NO_CONTENT
  return {
    update(changes, now) {
      compileChanges(state, changes, now)
      const changed = new Set(kinds.flatMap(({ changes: { uids } }) => [...uids]))
      const resettled = new Set(kinds.flatMap(({ changes: { replacements } }) => [...replacements.keys()]))
      content = replaceIn(content, {
        tenants: [...tenants.changes.replacements.values()],
        keys: [...apiKeys.changes.replacements.values()],
        templates: [...templates.changes.replacements.values()],
      })
      for (const uid of resettled) setDue(state, uid)
      for (const kind of kinds) kind.settle()
      return { changed, resettled }
    },
    content: () => content,
    outcomeOf: (uid) => kinds.map((kind) => kind.outcomeOf(uid)).find((outcome) => outcome !== undefined),
    tenantInForce: (uid) => tenants.inForce.get(uid)?.settings,
    accepts: (resource) => 'tenant' in findTenant(resource, tenantsByName(state)),
    tenantsOf: relations.tenantsOf,
    dependentsOf: relations.dependentsOf,
    due: () => (dueAt.size === 0 ? undefined : Math.min(...dueAt.values())),
  }
}

/** Whoever may come to something else by a change. */
interface Concerned {
  readonly uids: Set<Uid>
  /** Names of plans whose tenants, and of tenants whose templates and keys, are concerned. */
  readonly plans: Set<string>
  readonly tenants: Set<string>
  /** Names of tenants whose keys may be others than before. */
  readonly keyOwners: Set<string>
}

function compileChanges(state: State, changes: readonly Change[], now: Instant): void {
  const { relations, plans, tenants, templates, apiKeys } = state
  const uids = new Set(changes.map(({ uid }) => uid))
  for (const [uid, due] of state.dueAt) if (due <= now) uids.add(uid)
  // Whoever stood in somebody's way before may do so no longer.
  for (const kind of [tenants, templates, apiKeys]) for (const uid of kind.withRivals(uids)) uids.add(uid)
  const concerned: Concerned = { uids, plans: new Set(), tenants: new Set(), keyOwners: new Set() }
  /** Plans that may be in use now, or no longer. */
  const counted = new Set<string>()
  for (const { uid, resource } of changes) {
    for (const each of [relations.resourceOf(uid), resource]) {
      if (each?.kind === 'Plan') concerned.plans.add(each.metadata.name)
      if (each?.kind === 'Tenant') concerned.tenants.add(each.metadata.name)
      if (each?.kind === 'Tenant') counted.add(each.spec.planRef.name)
      if (each?.kind === 'ApiKey') concerned.keyOwners.add(each.spec.tenantRef.name)
    }
    relations.set(uid, resource)
    if (resource === undefined) for (const kind of [plans, tenants, templates, apiKeys]) kind.drop(uid)
    else if (resource.kind === 'Tenant') tenants.claim(resource)
    else if (resource.kind === 'Template') templates.claim(resource)
    else if (resource.kind === 'ApiKey') apiKeys.claim(resource)
  }
  settlePlans(state, new Set([...concerned.plans, ...counted]))
  settleTenants(state, concerned, now)
  settleDependents(state, concerned, now)
}

function settlePlans({ relations, plans, defaults }: State, names: ReadonlySet<string>): void {
  const found = [...names].flatMap((name) => relations.named('Plan', name) ?? [])
  const resources = found.filter((resource) => resource.kind === 'Plan')
  const isInUse = (name: string) => relations.tenantsOf(name).size > 0
  plans.take(compilePlans({ plans: resources, isInUse, defaults, previous: plans.inForce }))
}

function settleTenants(state: State, { uids, plans: names, tenants: concerned }: Concerned, now: Instant): void {
  const { relations, plans, tenants, facts, serviceBucket } = state
  for (const name of names) for (const uid of relations.tenantsOf(name)) uids.add(uid)
  for (const uid of tenants.withRivals(uids)) uids.add(uid)
  const resources = resourcesOf(state, uids).filter((resource) => resource.kind === 'Tenant')
  const named = new Set(resources.map(({ spec }) => spec.planRef.name))
  const planOutcomes = [...named].flatMap((name) => {
    const uid = relations.named('Plan', name)?.metadata.uid
    return (uid && plans.outcomeOf(uid)) ?? []
  })
  const input = { ...facts, serviceBucket, now, tenants: resources, plans: planOutcomes, previous: tenants.inForce }
  tenants.take(compileTenants(input))
  for (const uid of tenants.changes.replacements.keys()) {
    const resource = relations.resourceOf(uid)
    if (resource !== undefined) concerned.add(resource.metadata.name)
  }
}

function settleDependents(state: State, { uids, tenants: names, keyOwners }: Concerned, now: Instant): void {
  const { relations, templates, apiKeys, facts, places } = state
  for (const name of names) for (const uid of relations.dependentsOf(name)) uids.add(uid)
  for (const name of names.union(keyOwners)) for (const uid of settlePlaces(state, name)) uids.add(uid)
  for (const kind of [templates, apiKeys]) for (const uid of kind.withRivals(uids)) uids.add(uid)
  const resources = resourcesOf(state, uids)
  const given = { ...facts, tenants: tenantsByName(state), now }
  const ofTemplates = resources.filter((resource) => resource.kind === 'Template')
  const ofKeys = resources.filter((resource) => resource.kind === 'ApiKey')
  templates.take(
    compileTemplates({ ...given, templates: ofTemplates, previous: templates.inForce, ...NO_SOURCES }).outcomes,
  )
  const hasPlace = ({ metadata, spec }: ApiKeyResource) => places.get(spec.tenantRef.name)?.has(metadata.uid) === true
  apiKeys.take(compileApiKeys({ ...given, apiKeys: ofKeys, hasPlace, previous: apiKeys.inForce }))
}

/** Decides which keys of a tenant have a place. Answers those that have one now and had none before, or the other way round. */
function settlePlaces(state: State, name: string): ReadonlySet<Uid> {
  const { relations, places } = state
  const tenant = tenantsByName(state).get(name)
  const before = places.get(name) ?? new Set()
  const after = tenant === undefined ? new Set<Uid>() : placesOf(tenant, relations.keysOf(name))
  if (after.size === 0) places.delete(name)
  else places.set(name, after)
  return before.symmetricDifference(after)
}

function tenantsByName({ relations, tenants }: State): TenantsByName {
  return {
    get(name) {
      const uid = relations.named('Tenant', name)?.metadata.uid
      return uid && tenants.outcomeOf(uid)
    },
  }
}

/** They are stored before they are compiled here. */
const NO_SOURCES = { previousSources: new Map(), previousAssets: new Map() }

function resourcesOf({ relations }: State, uids: ReadonlySet<Uid>): readonly Resource[] {
  return [...uids].flatMap((uid) => relations.resourceOf(uid) ?? []).sort(byAge)
}

function setDue({ tenants, apiKeys, dueAt }: State, uid: Uid): void {
  const secrets = tenants.outcomeOf(uid)?.settings?.webhookSecrets ?? []
  // The first is the current one, whose end nobody has to bring about.
  const [, ...replaced] = apiKeys.outcomeOf(uid)?.settings ?? []
  const ends = [...secrets.flatMap(({ until }) => until ?? []), ...replaced.flatMap(({ expiresAt }) => expiresAt ?? [])]
  if (ends.length === 0) dueAt.delete(uid)
  else dueAt.set(uid, Math.min(...ends))
}
