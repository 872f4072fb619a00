/**
 * Resources in, settings and conditions out: the station between what people declare and what API and renderers enforce, and the
 * same function whether the resources come from a cluster or from a folder. Pure, and total: whatever is wrong with a resource is
 * said in its conditions, costs nobody else anything, and leaves the last good settings of that resource in force.
 */
import type { Instant } from '@platen/contract/brand.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type {
  ApiKeyResource,
  PlanResource,
  Resource,
  TemplateResource,
  TenantResource,
  Uid,
} from '@platen/contract/resource.ts'
import type {
  ApiKey,
  AssetDigest,
  KeyHash,
  Limits,
  Template,
  TemplateCode,
  TemplateDigest,
  TemplateSource,
  Tenant,
  TenantId,
} from '@platen/contract/tenant.ts'
import { type ApiKeyOutcome, compileApiKeys, type FoundKeys, placesOf } from './api-key.ts'
import { canonicalJson } from './digest.ts'
import { byAge, type InForce, type Outcome, type Outcomes, outcomesByUid } from './outcome.ts'
import type { ConfigMaps } from './source.ts'
import { type CheckAnswers, compileTemplates, type TemplateOutcome } from './template.ts'
import { compilePlans, compileTenants, type FoundSecrets, type TenantOutcome } from './tenant.ts'

export interface CompileInput {
  /** All there are, each kind and place once, in any order. */
  readonly resources: readonly Resource[]
  readonly configMaps: ConfigMaps
  readonly foundKeys: FoundKeys
  /** A tenant that is missing here keeps the secrets it had. */
  readonly webhookSecrets: FoundSecrets
  readonly now: Instant
  /** The answers to `checksOf` these templates. */
  readonly checks: CheckAnswers
  /** What a plan has where it says nothing. */
  readonly defaults: Limits
  /** Where the PDFs of tenants go that name no bucket. */
  readonly serviceBucket: string
  /** What the last call returned, or what is left of it after a restart; absent at the very first. */
  readonly previous?: Previous
}

/** What compiling asks of the past. */
export interface Previous {
  readonly snapshot: DirectorySnapshot
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
  readonly assets: ReadonlyMap<AssetDigest, Uint8Array>
  readonly plans: InForce<Limits>
  readonly tenants: InForce<Tenant>
  readonly templates: InForce<Template>
  readonly apiKeys: InForce<readonly ApiKey[]>
}

export interface Compiled {
  /** Of the revision of `previous` where nothing changed, else of the next. */
  readonly snapshot: DirectorySnapshot
  /** The source of every template in the snapshot but those of before a restart; they must stand in the artifact store before the snapshot is published. */
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
  /** The assets of these sources, which must stand there as well. */
  readonly assets: ReadonlyMap<AssetDigest, Uint8Array>
  readonly plans: Outcomes<PlanResource, Limits>
  readonly tenants: Outcomes<TenantResource, Tenant>
  readonly templates: Outcomes<TemplateResource, Template>
  readonly apiKeys: Outcomes<ApiKeyResource, readonly ApiKey[]>
}

/** Compiles all resources. Throws for nothing that a resource can say. */
export function compile(input: CompileInput): Compiled {
  const previous = input.previous ?? NOTHING
  const { plans, tenants, templates, apiKeys } = sortedByKind(input.resources)
  const named = new Set(tenants.map(({ spec }) => spec.planRef.name))
  const isInUse = (plan: string) => named.has(plan)
  const planOutcomes = compilePlans({ plans, isInUse, defaults: input.defaults, previous: previous.plans })
  const tenantOutcomes = compileTenants({ ...input, tenants, plans: planOutcomes, previous: previous.tenants })
  const tenantsByName = new Map(tenantOutcomes.map((tenant) => [tenant.resource.metadata.name, tenant]))
  const compiledTemplates = compileTemplates({
    ...input,
    templates,
    tenants: tenantsByName,
    previous: previous.templates,
    previousSources: previous.sources,
    previousAssets: previous.assets,
  })
  const places = allPlaces(tenantOutcomes, apiKeys)
  const hasPlace = ({ metadata }: ApiKeyResource) => places.has(metadata.uid)
  const keyOutcomes = compileApiKeys({
    ...input,
    apiKeys,
    tenants: tenantsByName,
    hasPlace,
    previous: previous.apiKeys,
  })
  const content = {
    tenants: tenantMap(tenantOutcomes),
    keys: keyMap(keyOutcomes),
    templates: templateMap(compiledTemplates.outcomes),
  }
  return {
    snapshot: nextSnapshot(content, previous.snapshot),
    sources: compiledTemplates.sources,
    assets: compiledTemplates.assets,
    plans: outcomesByUid(planOutcomes),
    tenants: outcomesByUid(tenantOutcomes),
    templates: outcomesByUid(compiledTemplates.outcomes),
    apiKeys: outcomesByUid(keyOutcomes),
  }
}

/** What every resource came to, plans first, then tenants, templates and keys. */
export function outcomesOf({ plans, tenants, templates, apiKeys }: Compiled): readonly Outcome<Resource, unknown>[] {
  return [...plans.values(), ...tenants.values(), ...templates.values(), ...apiKeys.values()]
}

/** What was before anything was. */
export const NOTHING: Previous = {
  snapshot: { revision: 0, tenants: new Map(), keys: new Map(), templates: new Map() },
  sources: new Map(),
  assets: new Map(),
  plans: new Map(),
  tenants: new Map(),
  templates: new Map(),
  apiKeys: new Map(),
}

function nextSnapshot(content: SnapshotContent, { revision, ...before }: DirectorySnapshot): DirectorySnapshot {
  const isSame = revision > 0 && spelling(content) === spelling(before)
  return { revision: isSame ? revision : revision + 1, ...content }
}

type SnapshotContent = Omit<DirectorySnapshot, 'revision'>

function spelling({ tenants, keys, templates }: SnapshotContent): string {
  const listed = [...templates.values()].flatMap((codes) => [...codes.values()])
  return canonicalJson([[...tenants.values()], [...keys.values()], listed])
}

function sortedByKind(resources: readonly Resource[]) {
  const sorted = [...resources].sort(byAge)
  return {
    plans: sorted.filter((resource) => resource.kind === 'Plan'),
    tenants: sorted.filter((resource) => resource.kind === 'Tenant'),
    templates: sorted.filter((resource) => resource.kind === 'Template'),
    apiKeys: sorted.filter((resource) => resource.kind === 'ApiKey'),
  }
}

function allPlaces(tenants: readonly TenantOutcome[], apiKeys: readonly ApiKeyResource[]): ReadonlySet<Uid> {
  const byTenant = Map.groupBy(apiKeys, ({ spec }) => spec.tenantRef.name)
  return new Set(tenants.flatMap((tenant) => [...placesOf(tenant, byTenant.get(tenant.resource.metadata.name) ?? [])]))
}

function tenantMap(outcomes: readonly TenantOutcome[]): ReadonlyMap<TenantId, Tenant> {
  return new Map(inForce(outcomes).map((tenant) => [tenant.id, tenant]))
}

function keyMap(outcomes: readonly ApiKeyOutcome[]): ReadonlyMap<KeyHash, ApiKey> {
  return new Map(inForce(outcomes).flatMap((keys) => keys.map((key) => [key.hash, key] as const)))
}

function templateMap(outcomes: readonly TemplateOutcome[]): DirectorySnapshot['templates'] {
  const sorted = [...inForce(outcomes)].sort((one, other) => (one.code < other.code ? -1 : 1))
  const templates = new Map<TenantId, Map<TemplateCode, Template>>()
  for (const template of sorted) {
    const codes = templates.get(template.tenant) ?? new Map<TemplateCode, Template>()
    templates.set(template.tenant, codes.set(template.code, template))
  }
  return templates
}

function inForce<Settings>(outcomes: readonly Outcome<Resource, Settings>[]): readonly Settings[] {
  return outcomes.flatMap(({ settings }) => (settings === undefined ? [] : [settings]))
}
